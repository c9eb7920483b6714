// gpuhist-bench pairs: the kernel that counts pairs of classes, relative to reading the same device memory only.
#pragma once

#include "bench/measurement.hpp"

namespace gpuhist::bench {

/// Measures and prints to standard output. Returns whether all counts were right. Throws std::runtime_error.
bool measure_pairs(const machine& on);

}  // namespace gpuhist::bench
