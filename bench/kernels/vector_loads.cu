// vector_loads_4 and vector_loads_16: one copy of the counters per block in shared memory, and 4 or 16 bytes per load.
//
// Performance considerations: one load instruction reads 128 or 512 bytes per warp instead of 32, so loads and
// addresses cost a quarter or a sixteenth. With 16 bytes, enough loads are in flight to saturate device memory. The
// grid has as many blocks as are resident, so a copy is cleared and committed once for megabytes. The additions remain
// as the limit: equal bytes of a warp contend for a counter, different bytes for a bank, which depends on the data.
//
// Source: Luitjens, "CUDA Pro Tip: Increase Performance with Vectorized Memory Access", NVIDIA developer blog, 2013;
// the grid-stride loop: Harris, "CUDA Pro Tip: Write Flexible Kernels with Grid-Stride Loops", 2013.
#include "bench/kernels/block_counters.cuh"
#include "bench/kernels/strategies.hpp"
#include "gpu/cuda/kernels/aligned_span.hpp"
#include "gpu/cuda/kernels/launch.cuh"

namespace gpuhist::bench::kernels {
namespace {

using namespace gpu::cuda::kernels;

constexpr unsigned threads = 1024;
constexpr unsigned blocks_per_multiprocessor = 2;
constexpr std::uint64_t min_bytes_per_block = 16 * threads;

template <bins Counted>
__device__ __forceinline__ void add_word(unsigned* copy, std::uint32_t word) {
#pragma unroll
  for (unsigned byte = 0; byte < 4; ++byte) {
    atomicAdd(copy + bucket_of<Counted>(static_cast<std::uint8_t>(word >> 8 * byte)), 1U);
  }
}

template <bins Counted>
__device__ __forceinline__ void add_vector(unsigned* copy, uint4 words) {
  add_word<Counted>(copy, words.x);
  add_word<Counted>(copy, words.y);
  add_word<Counted>(copy, words.z);
  add_word<Counted>(copy, words.w);
}

template <bins Counted>
__device__ __forceinline__ void add_vector(unsigned* copy, std::uint32_t word) {
  add_word<Counted>(copy, word);
}

template <bins Counted, class Vector>
__global__ void __launch_bounds__(threads)
    vector_loads(const std::uint8_t* bytes, aligned_span aligned, unsigned long long* counters) {
  __shared__ unsigned copy[count_of(Counted)];
  clear_copy<Counted>(copy);
  const auto* vectors = reinterpret_cast<const Vector*>(bytes + aligned.head);
  const std::uint64_t count = aligned.vectors * (vector_bytes / sizeof(Vector));
  for (std::uint64_t i = thread_of_grid(); i < count; i += threads_of_grid()) add_vector<Counted>(copy, vectors[i]);
  if (blockIdx.x == 0) {
    if (threadIdx.x < aligned.head) atomicAdd(copy + bucket_of<Counted>(bytes[threadIdx.x]), 1U);
    if (threadIdx.x < aligned.tail) atomicAdd(copy + bucket_of<Counted>(bytes[aligned.tail_begin() + threadIdx.x]), 1U);
  }
  commit_copy<Counted>(copy, counters);
}

template <class Vector>
cudaError_t launch_with(const span_launch& launch, cudaStream_t stream) {
  if (launch.size == 0) return cudaSuccess;
  const auto kernel =
      launch.counted == bins::letters ? vector_loads<bins::letters, Vector> : vector_loads<bins::bytes, Vector>;
  const auto resident = static_cast<std::uint64_t>(launch.multiprocessors) * blocks_per_multiprocessor;
  const launch_shape shape{.blocks = blocks_for(launch.size, resident, min_bytes_per_block), .threads = threads};
  return queue(kernel, shape, stream, launch.bytes,
               divide_span(reinterpret_cast<std::uintptr_t>(launch.bytes), launch.size), launch.counters);
}

}  // namespace

cudaError_t launch_vector_loads_4(const span_launch& launch, cudaStream_t stream) {
  return launch_with<std::uint32_t>(launch, stream);
}

cudaError_t launch_vector_loads_16(const span_launch& launch, cudaStream_t stream) {
  return launch_with<uint4>(launch, stream);
}

}  // namespace gpuhist::bench::kernels
