// coarsened_interleaved: block_private_shared with several bytes per thread, read with the stride of the grid.
//
// Performance considerations: as few copies to clear and to commit as coarsened_contiguous, and coalesced loads: in
// every step a warp reads 32 adjacent bytes. A load reads one byte per lane instead of sixteen, so loads and address
// arithmetic are the limit, not memory. Equal bytes in a warp still contend for one counter.
//
// Source: Hwu, Kirk, El Hajj, "Programming Massively Parallel Processors", 4th edition, chapter 9, coarsening with
// interleaved partitioning.
#include "bench/kernels/block_counters.cuh"
#include "bench/kernels/coarsening.hpp"
#include "bench/kernels/strategies.hpp"
#include "gpu/cuda/kernels/launch.cuh"

namespace gpuhist::bench::kernels {
namespace {

using namespace gpu::cuda::kernels;

template <bins Counted>
__global__ void __launch_bounds__(coarsened_threads)
    coarsened_interleaved(const std::uint8_t* bytes, std::uint64_t size, unsigned long long* counters) {
  __shared__ unsigned copy[count_of(Counted)];
  clear_copy<Counted>(copy);
  for (std::uint64_t i = thread_of_grid(); i < size; i += threads_of_grid()) {
    atomicAdd(copy + bucket_of<Counted>(bytes[i]), 1U);
  }
  commit_copy<Counted>(copy, counters);
}

}  // namespace

cudaError_t launch_coarsened_interleaved(const span_launch& launch, cudaStream_t stream) {
  if (launch.coarsening > max_coarsening) return cudaErrorInvalidValue;
  if (launch.size == 0) return cudaSuccess;
  const auto kernel =
      launch.counted == bins::letters ? coarsened_interleaved<bins::letters> : coarsened_interleaved<bins::bytes>;
  const launch_shape shape{.blocks = coarsened_blocks(launch), .threads = coarsened_threads};
  return queue(kernel, shape, stream, launch.bytes, launch.size, launch.counters);
}

}  // namespace gpuhist::bench::kernels
