// The measurement loop: all kernels that are compared run in turn in one stream.
#pragma once

#include "bench/buffers.hpp"
#include "bench/contender.hpp"

#include <vector>

namespace gpuhist::bench {

/// Runs every entrant `repetitions` times over the filled buffers. Each runs once per round, so that a disturbance of
/// the machine affects all entrants alike. Times are measured with events around each run. A pause is queued before
/// each round, so that no run waits for the host. Slow entrants take part in fewer rounds; an entrant that would take
/// seconds is not run. The counts of every run are compared with the expected counts. Throws std::runtime_error with
/// the name of the kernel that failed.
std::vector<measurement> measure(std::vector<entrant> entrants, buffers& data, const bin_counts& expected,
                                 unsigned repetitions, const stream& on);

}  // namespace gpuhist::bench
