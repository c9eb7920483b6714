// The loop that measures: all that compare with each other take turns in one stream.
#pragma once

#include "bench/buffers.hpp"
#include "bench/contender.hpp"

#include <vector>

namespace gpuhist::bench {

/// Runs every entrant `repetitions` times over the buffers, which are filled: round after round, each once a round, so
/// that what disturbs the machine disturbs all alike. Times are those of events around each run; a round is queued
/// behind a pause, so that no run waits for the host. Slow ones take part in fewer rounds; whoever would take seconds
/// is not run. The counts of every run are compared with what is expected.
/// Throws std::runtime_error that names the kernel that failed.
std::vector<measurement> measure(std::vector<entrant> entrants, buffers& data, const bin_counts& expected,
                                 unsigned repetitions, const stream& on);

}  // namespace gpuhist::bench
