// Checks conditions for windows of event time and, if they are about matches, for the totals.
#pragma once

#include "report/conditions/watcher.hpp"
#include "report/units/group_result.hpp"

namespace gpuhist::report::units {

/// Checks the windows in the order of time, each compared with `measured.previous_windows` windows before it, if that
/// is given. `totals`: the verified counts of the run. `list`: that of the checker.
void watch_groups(const group_result& found, const gpu::tally& totals, const gates::watch_list& list,
                  const measures::measuring& measured, gates::watcher& checker);

}  // namespace gpuhist::report::units
