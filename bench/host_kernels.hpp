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
  std::string ran;              ///< what ran, as it says itself: "ranges/AVX2"; "vector_sum" only reads
  double bytes_per_second = 0;  ///< of CPU time, the fastest repetition
  double cycles_a_byte = 0;     ///< of the core's clock, measured beside
  double of_sum = 0;            ///< times as fast as vector_sum over the same bytes
};

/// Rows that were measured in turn over the same bytes.
struct host_group {
  std::string classes;  ///< "letters (9 classes)"
  std::string data;
  std::uint64_t bytes = 0;
  std::vector<host_row> rows;  ///< vector_sum first
};

/// What --kernel knows.
std::vector<std::string_view> host_kernel_names();

/// Measures what the options ask for, one group after the other. Throws std::runtime_error where a kernel counts
/// wrongly or another instruction set ran than the one that was asked for.
void measure_host(const host_options& options, const std::function<void(const host_group&)>& done);

}  // namespace gpuhist::bench
