// The values of formulas by window of event time, for quantiles of each window: groups of lines (group_table) whose key
// is a formula and a bin of its distribution. They are added, spilled and joined as all groups are.
#pragma once

#include "report/units/distribution.hpp"
#include "report/units/group_sum.hpp"
#include "report/units/group_table.hpp"
#include "report/units/unit_plan.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace gpuhist::report::units {

/// An empty table for the values; nothing: the plan has no quantiles of windows.
std::optional<group_table> empty_values(const unit_plan& plan);

/// As empty_values(), with the limits of the groups of the plan.
std::optional<group_sum> no_values(const unit_plan& plan);

/// Adds the values of the formulas for one line. `time`: group_id::window of the line. A value that is not known is
/// added, too, so that the windows of the table are those of the lines.
void add_values(group_table& to, std::int64_t time, std::span<const double> by_formula);

/// The quantiles of each window. Memory: that of the groups.
class window_quantiles {
 public:
  /// Borrows the plan.
  window_quantiles(const watched_values& plan, const group_sum& found);

  /// Of the window with this start, as watched_values::numbers().
  [[nodiscard]] std::vector<std::optional<double>> of(std::int64_t start) const;

 private:
  const watched_values& plan_;
  std::map<std::int64_t, std::vector<distribution::numbers>> windows_;  // by start, then by formula
};

}  // namespace gpuhist::report::units
