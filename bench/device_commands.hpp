// The commands of gpuhist-bench that measure devices, where CUDA was compiled in; elsewhere they say that it was not.
#pragma once

#include "bench/options.hpp"

#include <string_view>
#include <vector>

namespace gpuhist::bench {

/// What `kernels --kernel` knows.
std::vector<std::string_view> device_kernel_names();

/// Measure and print; the exit status. Throw config::usage_error, std::runtime_error.
int run_kernels(const kernels_options& options);
int run_link(const link_options& options);

}  // namespace gpuhist::bench
