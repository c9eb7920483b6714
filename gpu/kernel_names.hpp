// The names of the counting kernels of all engines.
#pragma once

#include "gpu/tally.hpp"

#include <string_view>
#include <vector>

namespace gpuhist::gpu {

/// All kernels of the host, in the order of their table.
std::vector<std::string_view> host_kernel_names();

/// The host kernels that can count this partition; never empty.
std::vector<std::string_view> host_kernel_names_for(const partition& counted);

/// The kernels of the CUDA engine, which count every partition.
std::vector<std::string_view> cuda_kernel_names();

}  // namespace gpuhist::gpu
