// The values of formulas by group and by window of event time: groups of lines (group_table) whose key is a formula, a
// bin of its distribution, and the group. They are added, spilled and joined as all groups are.
//
//     line: host=a 12:00:01 ms=3        entries:  of the group "a", formula 0, the bin of 3
//                                                 of the window 12:00, formula 0, the bin of 3
//
// Groups have entries of all windows together, unless windows close while the run lasts: then each window has its own.
//
// An entry has the number of lines and, in the place of bytes by class, the sum of their values, without sign: whole
// numbers modulo 2^64, and millionths. The values of a bin have one sign and are nearly equal, so its number of lines
// shows whether their sum is below 2^64.
#pragma once

#include "report/units/distribution.hpp"
#include "report/units/group_result.hpp"
#include "report/units/group_sum.hpp"
#include "report/units/group_table.hpp"
#include "report/units/unit_plan.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace gpuhist::report::units {

/// An empty table for the values; nothing: the plan has no values by group or window.
std::optional<group_table> empty_values(const unit_plan& plan);

/// As empty_values(), with the limits of the groups of the plan.
std::optional<group_sum> no_values(const unit_plan& plan);

/// Adds the values of one line after the other. One thread at a time.
class value_entries {
 public:
  /// Borrows the plan, which has values by group or window.
  explicit value_entries(const unit_plan& plan)
      : plan_(plan.watched),
        has_keys_(!plan.lines->keys.empty()),
        has_windows_(plan.lines->events.has_value()),
        closes_windows_(plan.lines->closes_windows()) {}

  /// `line`: its time and the key of its group. A value that is not known is added, too, so that the windows of the
  /// table are those of the lines.
  void add(group_table& to, const group_id& line, std::span<const double> by_formula);

 private:
  void add_one(group_table& to, std::int64_t window, double value);

  const watched_values& plan_;
  const bool has_keys_;
  const bool has_windows_;
  const bool closes_windows_;
  std::string key_;
};

/// Sets group_counts::values of all groups and windows. Memory: that of the entries of windows and reported groups.
void add_values(group_result& to, const unit_plan& plan, const group_sum& found);

}  // namespace gpuhist::report::units
