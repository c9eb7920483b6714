// coarsened_contiguous: block_private_shared with several bytes a thread, which lie side by side.
//
// Performance considerations: fewer blocks, so fewer copies to clear and to commit. But neighbouring threads read
// addresses that lie a whole share apart, so a warp's one-byte loads touch 32 cache lines and use one byte of each at a
// time; the rest is used by later loads only if the cache still holds it. That is how a processor's threads would share
// the work, and it is wrong for a warp: the lesson is the comparison with coarsened_interleaved.
//
// Source: Hwu, Kirk, El Hajj, "Programming Massively Parallel Processors", 4th edition, chapter 9, coarsening with
// contiguous partitioning.
#include "gpu/cuda/kernels/block_counters.cuh"
#include "gpu/cuda/kernels/coarsening.hpp"
#include "gpu/cuda/kernels/launch.cuh"
#include "gpu/cuda/kernels/strategies.hpp"

namespace gpuhist::gpu::cuda::kernels {
namespace {

template <bins What>
__global__ void __launch_bounds__(coarsened_threads)
    coarsened_contiguous(const std::uint8_t* bytes, std::uint64_t size, unsigned coarsening,
                         unsigned long long* counters) {
  __shared__ unsigned copy[count_of(What)];
  clear_copy<What>(copy);
  const std::uint64_t begin = thread_of_grid() * coarsening;
  const std::uint64_t end = min(begin + coarsening, size);
  for (std::uint64_t i = begin; i < end; ++i) atomicAdd(copy + bucket_of<What>(bytes[i]), 1U);
  commit_copy<What>(copy, counters);
}

}  // namespace

cudaError_t launch_coarsened_contiguous(const span_launch& what, cudaStream_t stream) {
  if (what.coarsening > max_coarsening) return cudaErrorInvalidValue;
  if (what.size == 0) return cudaSuccess;
  const auto kernel =
      what.what == bins::letters ? coarsened_contiguous<bins::letters> : coarsened_contiguous<bins::bytes>;
  const launch_shape shape{.blocks = coarsened_blocks(what), .threads = coarsened_threads};
  return queue(kernel, shape, stream, what.bytes, what.size, coarsening_of(what), what.counters);
}

}  // namespace gpuhist::gpu::cuda::kernels
