// The kernels that measure the units of text in device memory.
#pragma once

#include "gpu/cuda/units/unit_tiles.hpp"

#include <cuda_runtime_api.h>

namespace gpuhist::gpu::cuda::units {

/// Queues the kernels of a launch. Returns the first error of a launch.
cudaError_t launch_units(const unit_launch& launch, cudaStream_t stream);

/// Queues the kernels that write `launch.tile_pieces` for a search (delimiter_search.hpp). Returns the first error.
cudaError_t launch_delimiter_counts(const unit_launch& launch, cudaStream_t stream);

}  // namespace gpuhist::gpu::cuda::units
