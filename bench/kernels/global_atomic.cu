// global_atomic: one thread per byte, which adds one to the counter of its byte in global memory.
//
// Performance considerations: every byte is an atomic addition in the L2 cache, and all additions to one counter are
// serialized. Text is slow because it has few, unevenly distributed values. One repeated letter is the worst case; a
// uniform distribution over 256 values is the best case. This is the baseline of the comparison.
//
// Source: Hwu, Kirk, El Hajj, "Programming Massively Parallel Processors", 4th edition, chapter 9, the first parallel
// histogram.
#include "bench/kernels/block_counters.cuh"
#include "bench/kernels/strategies.hpp"
#include "gpu/cuda/kernels/aligned_span.hpp"
#include "gpu/cuda/kernels/launch.cuh"

namespace gpuhist::bench::kernels {
namespace {

using namespace gpu::cuda::kernels;

constexpr unsigned threads = 256;

template <bins Counted>
__global__ void global_atomic(const std::uint8_t* bytes, std::uint64_t size, unsigned long long* counters) {
  const std::uint64_t i = thread_of_grid();
  if (i < size) atomicAdd(counters + bucket_of<Counted>(bytes[i]), 1ULL);
}

}  // namespace

cudaError_t launch_global_atomic(const span_launch& launch, cudaStream_t stream) {
  if (launch.size == 0) return cudaSuccess;
  const auto kernel = launch.counted == bins::letters ? global_atomic<bins::letters> : global_atomic<bins::bytes>;
  const launch_shape shape{.blocks = divide_up(launch.size, threads), .threads = threads};
  return queue(kernel, shape, stream, launch.bytes, launch.size, launch.counters);
}

}  // namespace gpuhist::bench::kernels
