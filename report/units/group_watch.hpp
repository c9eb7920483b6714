// Checks conditions for windows of event time.
#pragma once

#include "report/conditions/watcher.hpp"
#include "report/units/group_result.hpp"

namespace gpuhist::report::units {

/// Checks the windows in the order of time, each compared with `measured.previous_windows` windows before it, if that
/// is given. `list`: that of the checker.
void watch_event_windows(const group_result& found, const gates::watch_list& list, const measures::measuring& measured,
                         gates::watcher& checker);

}  // namespace gpuhist::report::units
