// The clock frequency of the current core, measured without performance counters, which many machines do not expose.
#pragma once

namespace gpuhist::bench {

/// Cycles per second: the rate of dependent additions, one per cycle, in the fastest of a few short runs.
double core_clock();

}  // namespace gpuhist::bench
