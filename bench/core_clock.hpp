// The clock of the core that runs, which performance counters would tell, where a machine lets programs read them.
#pragma once

namespace gpuhist::bench {

/// Cycles a second: the pace of additions that wait for each other, one a cycle, the fastest of a few short runs.
double core_clock();

}  // namespace gpuhist::bench
