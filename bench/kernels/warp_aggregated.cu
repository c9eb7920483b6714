// warp_aggregated: coarsened_interleaved, but the lanes of a warp that hold equal buckets find each other with a match
// instruction, and one of them adds for all.
//
// Performance considerations: no two lanes of a warp meet in a counter any more, whatever the data. But the match takes
// about as many steps as there are different values among the lanes, so text and noise pay more for it than the
// collisions it saves; shared memory's own additions of one merge equal addresses anyway. It wins where an addition is
// dear (global memory, floating point), not here.
//
// Source: Adinets, "CUDA Pro Tip: Optimized Filtering with Warp-Aggregated Atomics", NVIDIA developer blog, 2014;
// __match_any_sync since compute capability 7.0.
#include "bench/kernels/block_counters.cuh"
#include "bench/kernels/coarsening.hpp"
#include "bench/kernels/strategies.hpp"
#include "gpu/cuda/kernels/launch.cuh"

namespace gpuhist::bench::kernels {
namespace {

using namespace gpu::cuda::kernels;

constexpr unsigned every_lane = 0xffffffffU;
constexpr unsigned no_bucket = ~0U;  // of a lane that lies behind the span but takes part in its warp's match

template <bins What>
__global__ void __launch_bounds__(coarsened_threads)
    warp_aggregated(const std::uint8_t* bytes, std::uint64_t size, unsigned long long* counters) {
  __shared__ unsigned copy[count_of(What)];
  clear_copy<What>(copy);
  const unsigned lane = threadIdx.x % 32;
  // whole warps go round together: the loop ends when a warp's first lane is behind the span
  for (std::uint64_t warp = thread_of_grid() - lane; warp < size; warp += threads_of_grid()) {
    const unsigned bucket = warp + lane < size ? bucket_of<What>(bytes[warp + lane]) : no_bucket;
    const unsigned equals = __match_any_sync(every_lane, bucket);
    const bool first_of_them = __ffs(static_cast<int>(equals)) - 1 == static_cast<int>(lane);
    if (first_of_them && bucket != no_bucket) atomicAdd(copy + bucket, static_cast<unsigned>(__popc(equals)));
  }
  commit_copy<What>(copy, counters);
}

}  // namespace

cudaError_t launch_warp_aggregated(const span_launch& launch, cudaStream_t stream) {
  if (launch.coarsening > max_coarsening) return cudaErrorInvalidValue;
  if (launch.size == 0) return cudaSuccess;
  const auto kernel = launch.counted == bins::letters ? warp_aggregated<bins::letters> : warp_aggregated<bins::bytes>;
  const launch_shape shape{.blocks = coarsened_blocks(launch), .threads = coarsened_threads};
  return queue(kernel, shape, stream, launch.bytes, launch.size, launch.counters);
}

}  // namespace gpuhist::bench::kernels
