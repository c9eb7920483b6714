// What a report has to be watched: its inputs and its totals.
#pragma once

#include "pipeline/gates/watcher.hpp"
#include "pipeline/reports/report.hpp"

namespace gpuhist::pipeline::gates {

/// The whole input, of what counts. Borrows it.
unit unit_of(const input_report& input);

/// Holds the totals of a result against the conditions; not where its only input was, which is the same.
void watch_totals(const report& result, const watch_list& what, watcher& by);

}  // namespace gpuhist::pipeline::gates
