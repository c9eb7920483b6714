// gpuhist-bench link: how fast pinned memory crosses to the device, in the chunks and streams that lanes use.
#pragma once

#include "bench/measurement.hpp"
#include "bench/options.hpp"

namespace gpuhist::bench {

/// Measures and prints to standard output. Throws std::runtime_error.
void measure_link(const link_options& options, const machine& on);

}  // namespace gpuhist::bench
