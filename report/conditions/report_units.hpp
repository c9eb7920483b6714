// Checks the units of a report, its inputs and its totals, against the conditions.
#pragma once

#include "pipeline/counts/run_counts.hpp"
#include "report/conditions/watcher.hpp"

namespace gpuhist::pipeline::gates {

/// The verified text of an input. Borrows it.
unit unit_of(const input_report& input);

/// Checks the totals of a report; not if its only input was checked, which has the same counts. True: the run must end.
bool watch_totals(const run_counts& result, const watch_list& list, watcher& checker);

/// Checks the bytes counted so far of each input, and the totals. True: the run must end.
bool watch_so_far(const run_counts& snapshot, const watch_list& list, watcher& checker);

}  // namespace gpuhist::pipeline::gates
