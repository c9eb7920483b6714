// Launch bounds. Queues a kernel and returns the error of this launch only. cudaGetLastError would also return errors
// of earlier calls.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace gpuhist::gpu::cuda::kernels {

/// The number of resident blocks for __launch_bounds__. Registers must suffice for `blocks` blocks of 1024 threads,
/// except on a multiprocessor with fewer than 2048 threads, which has only one such block (7.5: 1024; 8.6, 8.9, 11.0
/// and 12.0: 1536).
constexpr __host__ __device__ unsigned min_resident(unsigned threads, unsigned blocks) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ != 800 && __CUDA_ARCH__ != 900 && __CUDA_ARCH__ / 100 != 10
  return 1024 / threads < blocks ? 1024 / threads : blocks;
#else
  return threads == 0 ? 0 : blocks;
#endif
}

struct launch_shape {
  std::uint64_t blocks = 1;
  unsigned threads = 1;
  std::size_t shared_bytes = 0;  ///< dynamic

  /// The kernel may begin when all blocks of the one before it in the stream have called
  /// cudaTriggerProgrammaticLaunchCompletion(). It calls cudaGridDependencySynchronize() before it ends, because later
  /// work waits only for this kernel. Compute capability 9.0 and higher.
  bool overlaps_previous = false;
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
  cudaLaunchAttribute overlap{};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  launch.attrs = &overlap;
  launch.numAttrs = shape.overlaps_previous ? 1 : 0;
  return cudaLaunchKernelEx(&launch, kernel, static_cast<Parameters>(arguments)...);
}

}  // namespace gpuhist::gpu::cuda::kernels
