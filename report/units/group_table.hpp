// Lines, bytes and matches by group: by the key that is read of a line, by the window of its time, or by both. Tables
// are added, so the groups of a run do not depend on the order of lines, threads and inputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::report::units {

/// The group of a line. Borrows the key.
struct group_id {
  // Windows that are no time: of lines before the first line with a time, and of times with an implausible year.
  static constexpr std::int64_t without_time = std::numeric_limits<std::int64_t>::max();
  static constexpr std::int64_t implausible = without_time - 2;
  /// The window of the last line with a time of the text before, which is not known yet.
  static constexpr std::int64_t of_text_before = without_time - 1;

  std::int64_t window = without_time;     ///< the number of its window since 1970-01-01; without windows always this
  std::optional<std::string_view> key{};  ///< nothing: the line has no key

  bool operator==(const group_id&) const = default;
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
  /// `classes`: of the partition that bytes are counted by. `matches`: match_numbers::size().
  group_table(std::size_t classes, std::size_t matches) : classes_(classes), matches_(matches) {}

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

  /// The same numbers of classes and of matches.
  group_table& operator+=(const group_table& more);

  /// Adds one group of a table.
  void add(const group_table& from, std::size_t place);

  /// The same for all groups of a key; other groups have one each.
  [[nodiscard]] std::uint64_t part_of(std::size_t place) const;

  /// Moves the groups of group_id::of_text_before to this window.
  void set_text_before(std::int64_t window);

  void clear();

  /// Bytes of the groups; the memory is up to twice as much.
  [[nodiscard]] std::size_t bytes() const;

  [[nodiscard]] std::size_t classes() const { return classes_; }
  [[nodiscard]] std::size_t matches() const { return matches_; }

 private:
  struct group {
    std::uint64_t hash_of_key = 0;
    std::int64_t window = 0;
    std::uint64_t key_at = 0;
    std::uint32_t key_bytes = 0;
    bool has_key = false;
  };

  [[nodiscard]] std::size_t stride() const { return 1 + classes_ + matches_; }
  [[nodiscard]] std::string_view key_of(const group& of) const { return {keys_.data() + of.key_at, of.key_bytes}; }
  [[nodiscard]] std::size_t slot_of(const group& of) const;
  std::size_t place_of(const group_id& id, std::uint64_t hash_of_key);
  void prefetch(const group_table& more, std::size_t next) const;
  void grow();

  std::size_t classes_;
  std::size_t matches_;
  std::vector<std::uint32_t> slots_;  // 1 + a place; 0: empty. Their number is a power of two
  std::vector<group> groups_;
  std::string keys_;
  std::vector<std::uint64_t> numbers_;  // stride() for each group
};

}  // namespace gpuhist::report::units
