// Checks conditions for windows of event time and, if they are about matches, for the totals.
#pragma once

#include "report/conditions/watcher.hpp"
#include "report/units/group_result.hpp"

#include <vector>

namespace gpuhist::report::units {

/// The values of facts for a group: the lines that match. Of numbers it has none.
std::vector<double> facts_of(const group_counts& of, const std::vector<gates::line_fact>& facts);

/// Checks the windows in the order of time, each compared with `measured.previous_windows` windows before it, if that
/// is given. `totals`: of the run. `list`: that of the checker.
void watch_groups(const group_result& found, const pipeline::run_counts& totals, const gates::watch_list& list,
                  const measures::measuring& measured, gates::watcher& checker);

}  // namespace gpuhist::report::units
