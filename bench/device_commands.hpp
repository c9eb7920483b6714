// The commands of gpuhist-bench that measure devices. Without CUDA they throw an error.
#pragma once

#include "bench/options.hpp"

#include <string_view>
#include <vector>

namespace gpuhist::bench {

/// The names that `kernels --kernel` accepts.
std::vector<std::string_view> device_kernel_names();

/// Measure, print, and return the exit status. Throw config::usage_error, std::runtime_error.
int run_kernels(const kernels_options& options);
int run_link(const link_options& options);
int run_pairs();
int run_samples();
int run_units();
int run_decode(const decode_command& command);

}  // namespace gpuhist::bench
