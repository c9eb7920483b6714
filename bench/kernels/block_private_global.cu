// block_private_global: every block has a copy of the counters in global memory. Its threads add to the copy; at the
// end the block adds the copy to the counters.
//
// Performance considerations: the simplest form of privatization. Only threads of the same block contend for a counter.
// The copies are still in the L2 cache, so an addition has the same cost as in global_atomic, but waits less. The
// number of copies is bounded by a bounded grid: a block reads the span with the stride of the grid.
//
// Source: Hwu, Kirk, El Hajj, "Programming Massively Parallel Processors", 4th edition, chapter 9, privatization with
// the copies in global memory. There the copy of the first block is the result. Here the result is added to the
// counters of the caller, so every block has a copy. Copies have 64 bits, so they cannot overflow.
#include "bench/kernels/block_counters.cuh"
#include "bench/kernels/strategies.hpp"
#include "gpu/cuda/kernels/aligned_span.hpp"
#include "gpu/cuda/kernels/launch.cuh"

#include <algorithm>

namespace gpuhist::bench::kernels {
namespace {

using namespace gpu::cuda::kernels;

constexpr unsigned threads = 256;
constexpr unsigned blocks_per_multiprocessor = 8;

std::uint64_t max_blocks(int multiprocessors) {
  return static_cast<std::uint64_t>(multiprocessors) * blocks_per_multiprocessor;
}

template <bins Counted>
__global__ void block_private_global(const std::uint8_t* bytes, std::uint64_t size, unsigned long long* copies,
                                     unsigned long long* counters) {
  unsigned long long* const copy = copies + blockIdx.x * count_of(Counted);
  for (std::uint64_t i = thread_of_grid(); i < size; i += threads_of_grid()) {
    atomicAdd(copy + bucket_of<Counted>(bytes[i]), 1ULL);
  }

  __threadfence();  // the additions are in the L2 cache, from which the copy is read
  __syncthreads();
  for (unsigned i = threadIdx.x; i < count_of(Counted); i += blockDim.x) {
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
