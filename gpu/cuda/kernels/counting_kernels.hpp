// The counting kernels of the CUDA engine: lane_private, in which additions of the lanes of a warp never collide, and
// pair_private, which counts pairs of classes.
#pragma once

#include "gpu/cuda/runtime.hpp"

#include <cuda_runtime_api.h>

namespace gpuhist::gpu::cuda::kernels {

/// Queues a kernel on `stream` that adds the counts of each extent to its row. Returns the result of the launch.
cudaError_t launch_lane_private(const kernel_launch& launch, cudaStream_t stream);

/// Loads the kernel onto the current device, so that the first launch is not delayed.
cudaError_t load_lane_private();

/// Queues a kernel on `stream`, a stream of the current device, that adds the pairs inside each extent to its row.
/// Returns the result of the launch.
cudaError_t launch_pair_private(const pair_launch& launch, cudaStream_t stream);

}  // namespace gpuhist::gpu::cuda::kernels
