// The first lines that conditions about matches name: of all text, and of each window of event time.
#pragma once

#include "pipeline/counts/input_report.hpp"
#include "report/units/group_table.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::report::units {

/// A plain value. One thread at a time. Memory: a line of first_line::max_bytes for each condition, and for each of
/// them and each window.
class matched_lines {
 public:
  using by_condition = std::vector<std::optional<pipeline::observed_line>>;

  /// A line in which an expression matches.
  struct candidate {
    std::int64_t time = 0;    ///< as group_id::window
    std::uint64_t input = 0;  ///< in the order of inputs
    const std::shared_ptr<const std::string>& name;
    unit_place place{};
    std::string_view text{};  ///< up to first_line::max_bytes of it
  };

  /// `windows`: of the groups of the same lines.
  explicit matched_lines(const window_lengths& windows) : windows_(windows) {}

  /// Keeps the line if it is the first one for this condition: of all in the order of inputs, of a window in that of
  /// time.
  void note(std::size_t condition, const candidate& line);

  /// The same windows, except for their length.
  matched_lines& operator+=(const matched_lines& more);

  /// As group_table::shift() and set_text_before().
  void shift(const unit_place& begin);
  void set_text_before(std::int64_t time);

  /// Of all text.
  [[nodiscard]] by_condition all() const;

  /// Of the window that begins at this time.
  [[nodiscard]] by_condition in_window(std::int64_t start, std::int64_t length) const;

  /// Removes the windows that begin before this time.
  void drop_before(std::int64_t time);

  [[nodiscard]] bool is_empty() const { return kept_.empty(); }
  void clear() { kept_.clear(); }

 private:
  static constexpr std::int64_t all_text = group_id::reported;

  struct kept_line {
    std::int64_t time = 0;  // 0: of all text
    std::uint64_t input = 0;
    pipeline::observed_line line{};

    [[nodiscard]] bool precedes(const kept_line& other) const;
  };
  using kept_lines = std::vector<std::optional<kept_line>>;

  [[nodiscard]] std::int64_t start_of(std::int64_t time) const;
  [[nodiscard]] bool is_first(std::int64_t window, std::size_t condition, const kept_line& line) const;
  void keep(std::int64_t window, std::size_t condition, kept_line line);
  void keep(std::int64_t window, const kept_lines& lines);
  void settle();
  static by_condition lines_of(const kept_lines& from);

  window_lengths windows_;
  std::map<std::int64_t, kept_lines> kept_;  // by the start of the window
};

}  // namespace gpuhist::report::units
