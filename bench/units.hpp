// Measures the kernels that count the bytes of classes in units of text in device memory.
#pragma once

#include "bench/measurement.hpp"

namespace gpuhist::bench {

/// Measures and prints a table. Returns whether all counts were right. Throws std::runtime_error.
bool measure_units(const machine& on);

}  // namespace gpuhist::bench
