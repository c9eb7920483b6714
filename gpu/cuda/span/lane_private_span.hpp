// How lane_private is launched over one span of device memory.
#pragma once

#include "gpu/cuda/span/bins.hpp"

#include <cuda_runtime_api.h>

#include <cstdint>

namespace gpuhist::gpu::cuda::kernels {

/// One launch over a span of device memory.
struct span_launch {
  const std::uint8_t* bytes = nullptr;     ///< device memory; any alignment
  std::uint64_t size = 0;                  ///< in bytes; 0 is allowed and counts nothing
  unsigned long long* counters = nullptr;  ///< device memory, count_of(counted) of them; added to, not cleared
  bins counted = bins::bytes;
  void* scratch = nullptr;  ///< device memory, if the kernel needs any; the caller clears it before the launch
  int multiprocessors = 1;
  unsigned coarsening = 0;  ///< bytes per thread, for kernels that have such a factor; 0: the default of the kernel
};

/// Queues lane_private with the tuning for the current device. Does not wait and allocates nothing; thread-safe.
/// Returns the result of the launch.
cudaError_t launch_lane_private_span(const span_launch& launch, cudaStream_t stream);

}  // namespace gpuhist::gpu::cuda::kernels
