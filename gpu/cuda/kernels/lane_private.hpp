// lane_private, the counting kernel of the CUDA engine: additions of the lanes of a warp never collide.
#pragma once

#include "gpu/cuda/runtime.hpp"

#include <cuda_runtime_api.h>

namespace gpuhist::gpu::cuda::kernels {

/// Queues a kernel on `stream` that adds the counts of each extent to its row. Returns the result of the launch.
cudaError_t launch_lane_private(const kernel_launch& launch, cudaStream_t stream);

/// Loads the kernel onto the current device, so that the first launch is not delayed.
cudaError_t load_lane_private();

}  // namespace gpuhist::gpu::cuda::kernels
