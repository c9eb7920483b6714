// gpuhist-bench host: every host kernel on every instruction set of this machine, on one core, with Google Benchmark.
#pragma once

#include "bench/options.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::bench {

/// One kernel on one instruction set.
struct host_row {
  std::string kernel;           ///< kernel and instruction set that ran, "ranges/AVX2"; "vector_sum" only reads
  double bytes_per_second = 0;  ///< of CPU time, the fastest repetition
  double cycles_a_byte = 0;     ///< of the clock of the core, measured in the same run
  double of_sum = 0;            ///< rate relative to vector_sum over the same bytes
};

/// Rows that were measured in alternation over the same bytes.
struct host_group {
  std::string classes;  ///< "letters (9 classes)"
  std::string data;
  std::uint64_t bytes = 0;
  std::vector<host_row> rows;  ///< vector_sum first
};

/// The names that --kernel accepts.
std::vector<std::string_view> host_kernel_names();

/// Measures the groups that the options request, in sequence, and passes each to `report`. Throws std::runtime_error if
/// a kernel counts wrongly, or if another instruction set ran than the requested one.
void measure_host(const host_options& options, const std::function<void(const host_group&)>& report);

}  // namespace gpuhist::bench
