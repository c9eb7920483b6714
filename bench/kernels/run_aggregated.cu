// run_aggregated: coarsened_interleaved in which a thread keeps the count of its last bucket in a register and adds it
// to the copy of the block only when the bucket changes.
//
// Performance considerations: if the bytes of a thread repeat (one letter, the background of an image), one addition
// replaces many and there is no contention. Otherwise (text, noise) every byte costs a comparison and a branch in
// addition, and the lanes of a warp diverge. Consecutive bytes of a thread are the width of the grid apart, so only
// long runs help.
//
// Source: Hwu, Kirk, El Hajj, "Programming Massively Parallel Processors", 4th edition, chapter 9, aggregation.
#include "bench/kernels/block_counters.cuh"
#include "bench/kernels/coarsening.hpp"
#include "bench/kernels/strategies.hpp"
#include "gpu/cuda/kernels/launch.cuh"

namespace gpuhist::bench::kernels {
namespace {

using namespace gpu::cuda::kernels;

template <bins Counted>
__global__ void __launch_bounds__(coarsened_threads)
    run_aggregated(const std::uint8_t* bytes, std::uint64_t size, unsigned long long* counters) {
  __shared__ unsigned copy[count_of(Counted)];
  clear_copy<Counted>(copy);
  unsigned run = 0;     // bytes not yet added,
  unsigned bucket = 0;  // all of this bucket
  for (std::uint64_t i = thread_of_grid(); i < size; i += threads_of_grid()) {
    const unsigned next = bucket_of<Counted>(bytes[i]);
    if (next == bucket) {
      ++run;
    } else {
      if (run != 0) atomicAdd(copy + bucket, run);
      run = 1;
      bucket = next;
    }
  }
  if (run != 0) atomicAdd(copy + bucket, run);
  commit_copy<Counted>(copy, counters);
}

}  // namespace

cudaError_t launch_run_aggregated(const span_launch& launch, cudaStream_t stream) {
  if (launch.coarsening > max_coarsening) return cudaErrorInvalidValue;
  if (launch.size == 0) return cudaSuccess;
  const auto kernel = launch.counted == bins::letters ? run_aggregated<bins::letters> : run_aggregated<bins::bytes>;
  const launch_shape shape{.blocks = coarsened_blocks(launch), .threads = coarsened_threads};
  return queue(kernel, shape, stream, launch.bytes, launch.size, launch.counters);
}

}  // namespace gpuhist::bench::kernels
