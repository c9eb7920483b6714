// pair_private, the kernel of the CUDA engine that counts pairs of classes.
#pragma once

#include "gpu/cuda/runtime.hpp"

#include <cuda_runtime_api.h>

namespace gpuhist::gpu::cuda::kernels {

/// Queues a kernel on `stream`, a stream of the current device, that adds the pairs inside each extent to its row.
/// Returns the result of the launch.
cudaError_t launch_pair_private(const pair_launch& launch, cudaStream_t stream);

}  // namespace gpuhist::gpu::cuda::kernels
