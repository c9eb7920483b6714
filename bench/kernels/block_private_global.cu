// block_private_global: every block has a copy of the counters in global memory, to which its threads add; at its end
// the block adds its copy to the counters.
//
// Performance considerations: privatization in its plainest form. Threads of different blocks no longer meet in one
// counter, only those of one block do; the copies still lie in the L2 cache, so an addition costs what it cost before,
// but waits less. The number of copies must be bounded, so the grid is: a block walks the span with the stride of the
// grid.
//
// Source: Hwu, Kirk, El Hajj, "Programming Massively Parallel Processors", 4th edition, chapter 9, privatization with
// the copies in global memory. There the first block's copy is the result; here the result is added to what the
// caller's counters hold, so the first block has a copy like the others. Copies have 64 bits: nothing overflows.
#include "bench/kernels/block_counters.cuh"
#include "bench/kernels/strategies.hpp"
#include "gpu/cuda/kernels/launch.cuh"
#include "gpu/cuda/kernels/span_parts.hpp"

#include <algorithm>

namespace gpuhist::bench::kernels {
namespace {

using namespace gpu::cuda::kernels;

constexpr unsigned threads = 256;
constexpr unsigned blocks_per_multiprocessor = 8;

std::uint64_t max_blocks(int multiprocessors) {
  return static_cast<std::uint64_t>(multiprocessors) * blocks_per_multiprocessor;
}

template <bins What>
__global__ void block_private_global(const std::uint8_t* bytes, std::uint64_t size, unsigned long long* copies,
                                     unsigned long long* counters) {
  unsigned long long* const copy = copies + blockIdx.x * count_of(What);
  for (std::uint64_t i = thread_of_grid(); i < size; i += threads_of_grid()) {
    atomicAdd(copy + bucket_of<What>(bytes[i]), 1ULL);
  }

  __threadfence();  // the additions happened in the L2 cache; they are read from there
  __syncthreads();
  for (unsigned i = threadIdx.x; i < count_of(What); i += blockDim.x) {
    const unsigned long long counted = __ldcg(copy + i);
    if (counted != 0) atomicAdd(counters + i, counted);
  }
}

}  // namespace

std::size_t scratch_of_block_private_global(bins counted, int multiprocessors) {
  return max_blocks(multiprocessors) * count_of(counted) * sizeof(unsigned long long);
}

cudaError_t launch_block_private_global(const span_launch& launch, cudaStream_t stream) {
  if (launch.size == 0) return cudaSuccess;
  const auto kernel =
      launch.counted == bins::letters ? block_private_global<bins::letters> : block_private_global<bins::bytes>;
  const launch_shape shape{.blocks = std::min(max_blocks(launch.multiprocessors), divide_up(launch.size, threads)),
                           .threads = threads};
  return queue(kernel, shape, stream, launch.bytes, launch.size, static_cast<unsigned long long*>(launch.scratch),
               launch.counters);
}

}  // namespace gpuhist::bench::kernels
