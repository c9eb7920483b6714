// coarsened_interleaved: block_private_shared with several bytes a thread, taken with the stride of the grid.
//
// Performance considerations: as few copies to clear and to commit as coarsened_contiguous, and coalesced: in every
// step a warp reads 32 bytes that lie side by side. A load still brings one byte a lane where it could bring sixteen,
// so loads and address arithmetic, not memory, are the limit; and equal bytes in a warp still meet in one counter.
//
// Source: Hwu, Kirk, El Hajj, "Programming Massively Parallel Processors", 4th edition, chapter 9, coarsening with
// interleaved partitioning.
#include "gpu/cuda/kernels/block_counters.cuh"
#include "gpu/cuda/kernels/coarsening.hpp"
#include "gpu/cuda/kernels/launch.cuh"
#include "gpu/cuda/kernels/strategies.hpp"

namespace gpuhist::gpu::cuda::kernels {
namespace {

template <bins What>
__global__ void __launch_bounds__(coarsened_threads)
    coarsened_interleaved(const std::uint8_t* bytes, std::uint64_t size, unsigned long long* counters) {
  __shared__ unsigned copy[count_of(What)];
  clear_copy<What>(copy);
  for (std::uint64_t i = thread_of_grid(); i < size; i += threads_of_grid()) {
    atomicAdd(copy + bucket_of<What>(bytes[i]), 1U);
  }
  commit_copy<What>(copy, counters);
}

}  // namespace

cudaError_t launch_coarsened_interleaved(const span_launch& what, cudaStream_t stream) {
  if (what.coarsening > max_coarsening) return cudaErrorInvalidValue;
  if (what.size == 0) return cudaSuccess;
  const auto kernel =
      what.what == bins::letters ? coarsened_interleaved<bins::letters> : coarsened_interleaved<bins::bytes>;
  const launch_shape shape{.blocks = coarsened_blocks(what), .threads = coarsened_threads};
  return queue(kernel, shape, stream, what.bytes, what.size, what.counters);
}

}  // namespace gpuhist::gpu::cuda::kernels
