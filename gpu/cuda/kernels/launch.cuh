// Queues a kernel and returns the error of this launch only. cudaGetLastError would also return errors of earlier
// calls.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace gpuhist::gpu::cuda::kernels {

struct launch_shape {
  std::uint64_t blocks = 1;
  unsigned threads = 1;
  std::size_t shared_bytes = 0;  ///< dynamic
};

/// Asynchronous. Returns cudaErrorInvalidConfiguration for more blocks than a grid can have (2^31 - 1).
template <class... Parameters, class... Arguments>
cudaError_t queue(void (*kernel)(Parameters...), launch_shape shape, cudaStream_t stream, Arguments... arguments) {
  if (shape.blocks > 0x7fffffffU) return cudaErrorInvalidConfiguration;
  cudaLaunchConfig_t launch{};
  launch.gridDim = dim3(static_cast<unsigned>(shape.blocks));
  launch.blockDim = dim3(shape.threads);
  launch.dynamicSmemBytes = shape.shared_bytes;
  launch.stream = stream;
  return cudaLaunchKernelEx(&launch, kernel, static_cast<Parameters>(arguments)...);
}

}  // namespace gpuhist::gpu::cuda::kernels
