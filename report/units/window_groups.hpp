// The groups of lines of a run whose windows of event time close while it lasts: those of each open window by
// themselves, and those of all others together.
#pragma once

#include "report/units/event_watermark.hpp"
#include "report/units/group_sum.hpp"
#include "report/units/unit_plan.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace gpuhist::report::units {

/// Groups whose window is the same.
struct window_sum {
  std::int64_t start = 0;  ///< nanoseconds since 1970-01-01 UTC
  group_sum groups;
  std::optional<group_sum> values{};  ///< of formulas, in these groups (group_values)
};

/// One thread at a time. Memory: as that of a group_sum, and a part of it for each open window.
class window_groups {
 public:
  /// What remains of a window that was taken.
  enum class kept : std::uint8_t {
    window,  ///< it is a part of all()
    sums,    ///< its lines are in the groups by key of all(), and in no window
  };

  /// Borrows the plan, which closes windows. `empty`: the table of the groups.
  window_groups(const unit_plan& plan, group_table empty);

  /// Lines of windows that were taken are late.
  void add(const group_table& more);

  /// Removes the windows that begin before this time, in the order of time.
  [[nodiscard]] std::vector<window_sum> take_closed(std::int64_t before, kept remainder);

  /// The number of windows that take_closed() returns.
  [[nodiscard]] std::size_t closed(std::int64_t before) const;

  /// The groups of all lines.
  [[nodiscard]] group_sum all() const;

 private:
  [[nodiscard]] group_sum empty(std::size_t share = 1) const;
  group_sum& window_of(std::int64_t start);

  const line_reading& plan_;
  const group_table empty_;
  std::map<std::int64_t, group_sum> open_;  // by their start
  group_sum others_;
  std::int64_t taken_before_ = event_horizon::no_time;
};

}  // namespace gpuhist::report::units
