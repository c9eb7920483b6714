// Lines, bytes and matches by group: by the key that is read of a line, by the window of its time, or by both. Tables
// are added, so the groups of a run do not depend on the order of lines, threads and inputs.
//
// The length of windows may grow with the text: it is the first one of a list, each of which divides the next, with
// which no more than a given number of windows have lines. More text has no fewer windows, so the length of the whole
// is at least that of each part, and does not depend on how the text was divided. If first lines are kept, each first
// key (a log) has a length of its own.
#pragma once

#include "report/units/distinct_keys.hpp"
#include "report/units/unit_place.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::report::units {

/// The group of a line. Borrows the key.
struct group_id {
  // Windows that are no time: of lines before the first line with a time, of times with an implausible year, of lines
  // of windows that had closed, and of all windows that closed and were reported.
  static constexpr std::int64_t without_time = std::numeric_limits<std::int64_t>::max();
  static constexpr std::int64_t implausible = without_time - 2;
  static constexpr std::int64_t late = without_time - 3;
  static constexpr std::int64_t reported = without_time - 4;
  /// The window of the last line with a time of the text before, which is not known yet.
  static constexpr std::int64_t of_text_before = without_time - 1;

  /// A time in its window: nanoseconds since 1970-01-01 UTC, or the number of lines before it. Of a group in a table
  /// the start of the window. Without windows always the same.
  std::int64_t window = without_time;
  std::optional<std::string_view> key{};  ///< nothing: the line has no key
  bool is_of_removed = false;             ///< the lines of all groups of the window that were removed; without key

  bool operator==(const group_id&) const = default;
  [[nodiscard]] static bool is_time(std::int64_t window) { return window < reported; }
};

/// The windows of a table.
struct window_lengths {
  std::int64_t length = 0;    ///< of each, in the unit of group_id::window; 0: there are no windows
  std::size_t most = 0;       ///< if more windows have lines, the next length is used; 0: the length does not change
  bool are_of_lines = false;  ///< lengths are numbers of lines

  bool operator==(const window_lengths&) const = default;
};

/// The start of the window of this length that a time is in, also before 1970.
std::int64_t rounded_down(std::int64_t time, std::int64_t length);

/// The next longer one of the lengths that windows can have.
std::int64_t longer_window(const window_lengths& windows);

/// The first line of a group, in the order of time, then of inputs by name and offset.
struct first_line {
  std::int64_t time = 0;  ///< as group_id::window, of the line itself
  unit_place place{};
  std::string_view input{};
  std::string_view text{};  ///< up to max_bytes of it, without its end

  static constexpr std::size_t max_bytes = 400;
  [[nodiscard]] bool precedes(const first_line& other) const;
};

/// Of the numbers of matches: where those of an expression are. The last expression is "none matches".
struct match_numbers {
  static constexpr std::size_t size(std::size_t expressions) { return expressions > 0 ? 2 * (expressions + 1) : 0; }
  static constexpr std::size_t lines_at(std::size_t expression) { return 2 * expression; }
  static constexpr std::size_t bytes_at(std::size_t expression) { return 2 * expression + 1; }
};

/// A plain value: a hash table whose groups are in the order in which they were added. One thread at a time.
class group_table {
 public:
  /// The numbers of a group, and the windows.
  struct shape {
    std::size_t classes = 1;  ///< of the partition that bytes are counted by
    std::size_t matches = 0;  ///< match_numbers::size()
    window_lengths windows{};
    bool has_first_lines = false;  ///< the first line of each group is kept
    bool is_approximate = false;   ///< groups may be removed: error(), removed_keys(). First lines are not kept

    bool operator==(const shape&) const = default;
  };
  explicit group_table(const shape& of) : shape_(of) {}
  group_table(const group_table& other);
  group_table& operator=(const group_table& other);
  group_table(group_table&&) noexcept = default;
  group_table& operator=(group_table&&) noexcept = default;
  ~group_table() = default;

  /// The counts of a group: lines, bytes by class, match_numbers. Valid until a group is added.
  struct counts_of_group {
    std::uint64_t& lines;
    std::span<std::uint64_t> bytes;
    std::span<std::uint64_t> matches;
  };
  struct const_counts_of_group {
    std::uint64_t lines = 0;
    std::span<const std::uint64_t> bytes;
    std::span<const std::uint64_t> matches;
  };

  /// The place of a group, which is added if it is new.
  std::size_t place_of(const group_id& of);

  [[nodiscard]] std::size_t size() const { return groups_.size(); }
  [[nodiscard]] group_id at(std::size_t place) const;
  [[nodiscard]] counts_of_group counts(std::size_t place);
  [[nodiscard]] const_counts_of_group counts(std::size_t place) const;

  /// Of the groups of group_id::is_of_removed, together: so many lines of a key may have been removed. Of the groups of
  /// a key, together: so many of these are not of this key, because it was here when they were removed. Precondition:
  /// shape::is_approximate.
  [[nodiscard]] std::uint64_t& error(std::size_t place) { return numbers_[(place + 1) * stride() - 1]; }
  [[nodiscard]] std::uint64_t error(std::size_t place) const { return numbers_[(place + 1) * stride() - 1]; }

  /// The keys of groups that were removed.
  [[nodiscard]] const distinct_keys& removed_keys() const { return removed_keys_; }
  void set_removed_keys(distinct_keys keys) { removed_keys_ = std::move(keys); }

  /// Whether the group has a line of an earlier time.
  [[nodiscard]] bool has_line_before(std::size_t place, std::int64_t time) const {
    return first_lines_[place].is_set && first_lines_[place].time < time;
  }

  /// Keeps the line if the group has none that precedes it. Precondition: shape::has_first_lines.
  void note_first(std::size_t place, const first_line& line);
  [[nodiscard]] first_line first_of(std::size_t place) const;

  /// Adds so much to the places of all first lines, which counted from the end of earlier text of the input.
  void shift(const unit_place& begin);

  /// The same shape, except for the length of windows.
  group_table& operator+=(const group_table& more);

  /// Adds one group of a table. Returns its place.
  std::size_t add(const group_table& from, std::size_t place);

  /// The same, to another window. Precondition: first lines are not kept.
  std::size_t add(const group_table& from, std::size_t place, std::int64_t window);

  /// Adds its lines, bytes and matches to those of the groups that were removed. Precondition: it has a key.
  void add_as_removed(const group_table& from, std::size_t place);

  /// The same for all groups of a key; other groups have one each.
  [[nodiscard]] std::uint64_t part_of(std::size_t place) const;

  /// Moves the groups of group_id::of_text_before to the window of this time.
  void set_text_before(std::int64_t time);

  /// Those of all groups; if first lines are kept, of those with this first key.
  [[nodiscard]] window_lengths windows(std::string_view first_key = {}) const;

  /// Sets the length of windows of groups with this key, if first lines are kept: of those with the same first key.
  /// Precondition: there are none of another length.
  void set_length(const std::optional<std::string_view>& key, std::int64_t length) { scale_of(key).length = length; }

  /// A table without groups whose windows are as long.
  [[nodiscard]] group_table without_groups() const;

  /// Joins windows until they are not too many. Returns whether there were too many: places have changed then.
  bool settle();

  /// Removes the groups. The windows with lines still count for the length.
  void clear();

  /// Bytes of the groups; the memory is up to twice as much.
  [[nodiscard]] std::size_t bytes() const;
  [[nodiscard]] std::size_t bytes_of(std::size_t place) const;

  [[nodiscard]] const shape& form() const { return shape_; }

 private:
  struct group {
    std::uint64_t hash_of_key = 0;
    std::int64_t window = 0;
    std::uint64_t key_at = 0;
    std::uint32_t key_bytes = 0;
    bool has_key = false;
    bool is_of_removed = false;
  };

  // The place and the texts of a first line; in `keys_`: the name of the input, then the text.
  struct kept_line {
    std::int64_t time = 0;
    unit_place place{};
    std::uint64_t texts_at = 0;
    std::uint32_t input_bytes = 0;
    std::uint32_t text_bytes = 0;
    bool is_set = false;
  };

  // The windows of a first key.
  struct window_scale {
    std::int64_t length = 0;
    std::vector<std::int64_t> starts{};  // of windows with lines, ascending; only if their number is limited
    std::int64_t last_start = 0;         // of the window that was looked up last
  };
  using scale_map = std::map<std::string, window_scale, std::less<>>;

  [[nodiscard]] std::size_t stride() const {
    return 1 + shape_.classes + shape_.matches + (shape_.is_approximate ? 1 : 0);
  }
  void add_numbers(std::size_t to, const group_table& from, std::size_t place, std::size_t numbers);
  [[nodiscard]] window_scale& scale_of(const std::optional<std::string_view>& key);
  static std::int64_t start_of(std::int64_t time, window_scale& in);
  void note_window(std::int64_t start, window_scale& in) const;
  bool take_lengths(const scale_map& of);
  void add_again();
  [[nodiscard]] std::string_view key_of(const group& of) const { return {keys_.data() + of.key_at, of.key_bytes}; }
  [[nodiscard]] std::size_t slot_of(const group& of) const;
  std::size_t place_of(const group_id& id, std::uint64_t hash_of_key);
  void prefetch(const group_table& more, std::size_t next) const;
  void grow();

  shape shape_;
  std::vector<std::uint32_t> slots_;  // 1 + a place; 0: empty. Their number is a power of two
  std::vector<group> groups_;
  std::string keys_;
  std::vector<std::uint64_t> numbers_;  // stride() for each group: counts, error()
  std::vector<kept_line> first_lines_;  // of each group, or none
  scale_map scales_;                    // by first key; without first lines only ""
  scale_map::value_type* last_scale_ = nullptr;
  distinct_keys removed_keys_;
};

/// The groups of one key in a table.
struct key_groups {
  std::span<const std::size_t> places;
  std::uint64_t lines = 0;
  std::uint64_t error = 0;  ///< group_table::error()
};

/// Those of each key, in no order. `places`: of groups with a key, which are sorted by it; borrowed.
std::vector<key_groups> groups_by_key(const group_table& of, std::vector<std::size_t>& places);

}  // namespace gpuhist::report::units
