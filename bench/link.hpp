// gpuhist-bench link: the rate of copies from pinned memory to the device, with the chunks and streams that lanes use.
#pragma once

#include "bench/measurement.hpp"
#include "bench/options.hpp"

namespace gpuhist::bench {

/// Measures and prints to standard output. Throws std::runtime_error.
void measure_link(const link_options& options, const machine& on);

}  // namespace gpuhist::bench
