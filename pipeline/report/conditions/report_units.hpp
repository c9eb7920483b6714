// What a report has to be watched: its inputs and its totals.
#pragma once

#include "pipeline/counts/run_counts.hpp"
#include "pipeline/report/conditions/watcher.hpp"

namespace gpuhist::pipeline::gates {

/// The whole input, of what counts. Borrows it.
unit unit_of(const input_report& input);

/// Holds the totals of a report against the conditions; not where its only input was, which is the same. True: the run
/// is to end.
bool watch_totals(const run_counts& result, const watch_list& what, watcher& by);

/// Holds what was counted so far of each input, and the totals, against the conditions. True: the run is to end.
bool watch_so_far(const run_counts& snapshot, const watch_list& what, watcher& by);

}  // namespace gpuhist::pipeline::gates
