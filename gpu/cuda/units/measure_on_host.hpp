// Measures units with the code of the kernels, on the calling thread: for tests and for a device that is simulated.
#pragma once

#include "gpu/cuda/units/unit_tiles.hpp"

namespace gpuhist::gpu::cuda::units {

/// All pointers are of host memory.
void measure_on_host(const unit_launch& launch);

}  // namespace gpuhist::gpu::cuda::units
