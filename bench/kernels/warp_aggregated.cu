// warp_aggregated: coarsened_interleaved in which a match instruction finds the lanes of a warp with equal buckets, and
// one of them adds for all.
//
// Performance considerations: lanes of a warp never contend for a counter. But the match takes about as many steps as
// there are different values among the lanes, so for text and noise it costs more than the collisions. Additions of one
// in shared memory merge equal addresses in hardware anyway. The strategy is useful if additions are expensive (global
// memory, floating point), which is not the case here.
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
constexpr unsigned no_bucket = ~0U;  // for lanes past the end of the span, which take part in the match of their warp

template <bins Counted>
__global__ void __launch_bounds__(coarsened_threads)
    warp_aggregated(const std::uint8_t* bytes, std::uint64_t size, unsigned long long* counters) {
  __shared__ unsigned copy[count_of(Counted)];
  clear_copy<Counted>(copy);
  const unsigned lane = threadIdx.x % 32;
  // all lanes of a warp stay in the loop: it ends when the first lane of the warp is past the end of the span
  for (std::uint64_t warp = thread_of_grid() - lane; warp < size; warp += threads_of_grid()) {
    const unsigned bucket = warp + lane < size ? bucket_of<Counted>(bytes[warp + lane]) : no_bucket;
    const unsigned equals = __match_any_sync(every_lane, bucket);
    const bool first_of_them = __ffs(static_cast<int>(equals)) - 1 == static_cast<int>(lane);
    if (first_of_them && bucket != no_bucket) atomicAdd(copy + bucket, static_cast<unsigned>(__popc(equals)));
  }
  commit_copy<Counted>(copy, counters);
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
