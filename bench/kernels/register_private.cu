// register_private: every thread keeps the eight counters of the letters in registers. They are summed over the lanes
// of a warp at the end.
//
// Performance considerations: no atomics and no shared memory in the loop, and the time does not depend on the data.
// Registers cannot be indexed at run time, so each byte is compared with every bucket. This takes about two
// instructions per bucket and byte, which limits the rate and restricts the strategy to few buckets. Loads read one
// byte per lane.
//
// Source: privatization per thread: Podlozhnyuk, "Histogram calculation in CUDA", NVIDIA, 2007, keeps the counters of a
// thread in shared memory. The use of registers has no published source.
#include "bench/kernels/block_counters.cuh"
#include "bench/kernels/strategies.hpp"
#include "gpu/cuda/kernels/aligned_span.hpp"
#include "gpu/cuda/kernels/launch.cuh"

namespace gpuhist::bench::kernels {
namespace {

using namespace gpu::cuda::kernels;

constexpr unsigned threads = 256;
constexpr unsigned blocks_per_multiprocessor = 8;
constexpr std::uint64_t min_bytes_per_block = 16 * threads;
constexpr unsigned buckets = count_of(bins::letters);
constexpr unsigned every_lane = 0xffffffffU;

__global__ void __launch_bounds__(threads)
    register_private(const std::uint8_t* bytes, std::uint64_t size, unsigned long long* counters) {
  unsigned counts[buckets] = {};
  for (std::uint64_t i = thread_of_grid(); i < size; i += threads_of_grid()) {
    const unsigned bucket = bucket_of<bins::letters>(bytes[i]);
#pragma unroll
    for (unsigned k = 0; k < buckets; ++k) counts[k] += bucket == k ? 1U : 0U;
  }
#pragma unroll
  for (unsigned k = 0; k < buckets; ++k) {
    for (unsigned distance = 16; distance > 0; distance /= 2) {
      counts[k] += __shfl_xor_sync(every_lane, counts[k], distance);
    }
    if (threadIdx.x % 32 == 0 && counts[k] != 0) atomicAdd(counters + k, static_cast<unsigned long long>(counts[k]));
  }
}

}  // namespace

cudaError_t launch_register_private(const span_launch& launch, cudaStream_t stream) {
  if (launch.counted != bins::letters) return cudaErrorInvalidValue;
  if (launch.size == 0) return cudaSuccess;
  const auto resident = static_cast<std::uint64_t>(launch.multiprocessors) * blocks_per_multiprocessor;
  const launch_shape shape{.blocks = blocks_for(launch.size, resident, min_bytes_per_block), .threads = threads};
  return queue(register_private, shape, stream, launch.bytes, launch.size, launch.counters);
}

}  // namespace gpuhist::bench::kernels
