// One private copy of the counters per block in shared memory, for the textbook strategies.
#pragma once

#include "gpu/cuda/span/bins.hpp"

#include <cstdint>

namespace gpuhist::bench::kernels {

using gpu::cuda::kernels::bins;
using gpu::cuda::kernels::count_of;

/// Sets the copy of the block to zero. All threads of the block call it. It ends with a barrier.
template <bins Counted>
__device__ __forceinline__ void clear_copy(unsigned* copy) {
  for (unsigned i = threadIdx.x; i < count_of(Counted); i += blockDim.x) copy[i] = 0;
  __syncthreads();
}

/// Adds the copy of the block to the counters in global memory. All threads of the block call it. It begins with a
/// barrier.
template <bins Counted>
__device__ __forceinline__ void commit_copy(const unsigned* copy, unsigned long long* counters) {
  __syncthreads();
  for (unsigned i = threadIdx.x; i < count_of(Counted); i += blockDim.x) {
    if (copy[i] != 0) atomicAdd(counters + i, static_cast<unsigned long long>(copy[i]));
  }
}

/// The number of this thread in the grid.
__device__ __forceinline__ std::uint64_t thread_of_grid() {
  return std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}

/// The number of threads of the grid.
__device__ __forceinline__ std::uint64_t threads_of_grid() { return std::uint64_t{gridDim.x} * blockDim.x; }

}  // namespace gpuhist::bench::kernels
