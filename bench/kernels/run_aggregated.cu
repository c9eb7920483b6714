// run_aggregated: coarsened_interleaved, but a thread keeps the count of the bucket it saw last in a register and adds
// it to the block's copy only when the bucket changes.
//
// Performance considerations: where a thread's bytes repeat (one letter, an image's background), one addition stands
// for many and the contention is gone. Where they do not (text, noise), every byte costs a comparison and a branch on
// top of the addition, and lanes of a warp diverge. The bytes a thread sees one after the other lie a grid's width
// apart, so only repetition on a large scale helps: it is a remedy for one kind of data.
//
// Source: Hwu, Kirk, El Hajj, "Programming Massively Parallel Processors", 4th edition, chapter 9, aggregation.
#include "bench/kernels/block_counters.cuh"
#include "bench/kernels/coarsening.hpp"
#include "bench/kernels/strategies.hpp"
#include "gpu/cuda/kernels/launch.cuh"

namespace gpuhist::bench::kernels {
namespace {

using namespace gpu::cuda::kernels;

template <bins What>
__global__ void __launch_bounds__(coarsened_threads)
    run_aggregated(const std::uint8_t* bytes, std::uint64_t size, unsigned long long* counters) {
  __shared__ unsigned copy[count_of(What)];
  clear_copy<What>(copy);
  unsigned run = 0;     // bytes counted but not added yet,
  unsigned bucket = 0;  // all of this bucket
  for (std::uint64_t i = thread_of_grid(); i < size; i += threads_of_grid()) {
    const unsigned next = bucket_of<What>(bytes[i]);
    if (next == bucket) {
      ++run;
    } else {
      if (run != 0) atomicAdd(copy + bucket, run);
      run = 1;
      bucket = next;
    }
  }
  if (run != 0) atomicAdd(copy + bucket, run);
  commit_copy<What>(copy, counters);
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
