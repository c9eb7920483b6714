// coarsened_contiguous: block_private_shared with several adjacent bytes per thread.
//
// Performance considerations: fewer blocks, so fewer copies to clear and to commit. But the loads of a warp are not
// coalesced: its lanes read from 32 cache lines and use one byte of each. Later loads use the other bytes only if they
// are still in the cache. Such a partition suits the threads of a CPU, not a warp; compare with coarsened_interleaved.
//
// Source: Hwu, Kirk, El Hajj, "Programming Massively Parallel Processors", 4th edition, chapter 9, coarsening with
// contiguous partitioning.
#include "bench/kernels/block_counters.cuh"
#include "bench/kernels/coarsening.hpp"
#include "bench/kernels/strategies.hpp"
#include "gpu/cuda/kernels/launch.cuh"

namespace gpuhist::bench::kernels {
namespace {

using namespace gpu::cuda::kernels;

template <bins Counted>
__global__ void __launch_bounds__(coarsened_threads)
    coarsened_contiguous(const std::uint8_t* bytes, std::uint64_t size, unsigned coarsening,
                         unsigned long long* counters) {
  __shared__ unsigned copy[count_of(Counted)];
  clear_copy<Counted>(copy);
  const std::uint64_t begin = thread_of_grid() * coarsening;
  const std::uint64_t end = min(begin + coarsening, size);
  for (std::uint64_t i = begin; i < end; ++i) atomicAdd(copy + bucket_of<Counted>(bytes[i]), 1U);
  commit_copy<Counted>(copy, counters);
}

}  // namespace

cudaError_t launch_coarsened_contiguous(const span_launch& launch, cudaStream_t stream) {
  if (launch.coarsening > max_coarsening) return cudaErrorInvalidValue;
  if (launch.size == 0) return cudaSuccess;
  const auto kernel =
      launch.counted == bins::letters ? coarsened_contiguous<bins::letters> : coarsened_contiguous<bins::bytes>;
  const launch_shape shape{.blocks = coarsened_blocks(launch), .threads = coarsened_threads};
  return queue(kernel, shape, stream, launch.bytes, launch.size, coarsening_of(launch), launch.counters);
}

}  // namespace gpuhist::bench::kernels
