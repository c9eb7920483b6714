// Decodes frames, counts their text and measures its units, all on one stream.
#pragma once

#include "gpu/cuda/runtime.hpp"

#include <cuda_runtime_api.h>

namespace gpuhist::gpu::cuda::frames {

/// Queues all kernels of a launch. Returns the first error of a launch.
cudaError_t launch_frames(const frame_launch& launch, cudaStream_t stream);

/// As runtime::multiply_words().
cudaError_t launch_products(const product_launch& launch, cudaStream_t stream);

}  // namespace gpuhist::gpu::cuda::frames
