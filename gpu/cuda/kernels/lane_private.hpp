// The counting kernel whose additions never meet: lane_private.
#pragma once

#include "gpu/cuda/runtime.hpp"

#include <cuda_runtime_api.h>

namespace gpuhist::gpu::cuda::kernels {

/// Adds the counts of each extent to its row. Asynchronous, on `stream`; returns what the launch said.
cudaError_t launch_lane_private(const kernel_launch& what, cudaStream_t stream);

/// Loads the kernel onto the current device, so that the first launch does not pay for it.
cudaError_t load_lane_private();

}  // namespace gpuhist::gpu::cuda::kernels
