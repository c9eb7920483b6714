// vector_loads_4 and vector_loads_16: one copy of the counters a block in shared memory, and 4 or 16 bytes a load.
//
// Performance considerations: one load instruction brings a warp 128 or 512 bytes instead of 32, so loads and their
// addresses cost a fourth or a sixteenth, and with 16 bytes enough of them are under way to keep device memory busy.
// The grid is as large as fits on the device at once, so a copy is cleared and committed once for megabytes. What is
// left is the additions: equal bytes of a warp meet in one counter, different ones in one bank, and that depends on the
// data.
//
// Source: Luitjens, "CUDA Pro Tip: Increase Performance with Vectorized Memory Access", NVIDIA developer blog, 2013;
// the grid-stride loop: Harris, "CUDA Pro Tip: Write Flexible Kernels with Grid-Stride Loops", 2013.
#include "bench/kernels/block_counters.cuh"
#include "bench/kernels/strategies.hpp"
#include "gpu/cuda/kernels/launch.cuh"
#include "gpu/cuda/kernels/span_parts.hpp"

namespace gpuhist::bench::kernels {
namespace {

using namespace gpu::cuda::kernels;

constexpr unsigned threads = 1024;
constexpr unsigned blocks_per_multiprocessor = 2;
constexpr std::uint64_t min_bytes_per_block = 16 * threads;

template <bins What>
__device__ __forceinline__ void add_word(unsigned* copy, std::uint32_t word) {
#pragma unroll
  for (unsigned byte = 0; byte < 4; ++byte) {
    atomicAdd(copy + bucket_of<What>(static_cast<std::uint8_t>(word >> 8 * byte)), 1U);
  }
}

template <bins What>
__device__ __forceinline__ void add_vector(unsigned* copy, uint4 words) {
  add_word<What>(copy, words.x);
  add_word<What>(copy, words.y);
  add_word<What>(copy, words.z);
  add_word<What>(copy, words.w);
}

template <bins What>
__device__ __forceinline__ void add_vector(unsigned* copy, std::uint32_t word) {
  add_word<What>(copy, word);
}

template <bins What, class Vector>
__global__ void __launch_bounds__(threads)
    vector_loads(const std::uint8_t* bytes, span_parts parts, unsigned long long* counters) {
  __shared__ unsigned copy[count_of(What)];
  clear_copy<What>(copy);
  const auto* vectors = reinterpret_cast<const Vector*>(bytes + parts.head);
  const std::uint64_t count = parts.vectors * (vector_bytes / sizeof(Vector));
  for (std::uint64_t i = thread_of_grid(); i < count; i += threads_of_grid()) add_vector<What>(copy, vectors[i]);
  if (blockIdx.x == 0) {
    if (threadIdx.x < parts.head) atomicAdd(copy + bucket_of<What>(bytes[threadIdx.x]), 1U);
    if (threadIdx.x < parts.tail) atomicAdd(copy + bucket_of<What>(bytes[parts.tail_begin() + threadIdx.x]), 1U);
  }
  commit_copy<What>(copy, counters);
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
