// block_private_shared: one thread per byte. Every block has a copy of the counters in shared memory. Its threads add
// to the copy; at the end the block adds the copy to the counters.
//
// Performance considerations: additions are in shared memory, close to the threads. Lanes of a warp with equal bytes
// still contend for one counter, and lanes whose counters are in the same bank are serialized, so the time depends on
// the data. A block of 1024 threads counts 1024 bytes and then commits up to 256 counters: with 256 bins, clearing and
// committing is as much work as counting. Coarsening reduces that work.
//
// Source: Hwu, Kirk, El Hajj, "Programming Massively Parallel Processors", 4th edition, chapter 9, privatization with
// the copies in shared memory.
#include "bench/kernels/block_counters.cuh"
#include "bench/kernels/strategies.hpp"
#include "gpu/cuda/kernels/aligned_span.hpp"
#include "gpu/cuda/kernels/launch.cuh"

namespace gpuhist::bench::kernels {
namespace {

using namespace gpu::cuda::kernels;

constexpr unsigned threads = 1024;

template <bins Counted>
__global__ void __launch_bounds__(threads)
    block_private_shared(const std::uint8_t* bytes, std::uint64_t size, unsigned long long* counters) {
  __shared__ unsigned copy[count_of(Counted)];
  clear_copy<Counted>(copy);
  const std::uint64_t i = thread_of_grid();
  if (i < size) atomicAdd(copy + bucket_of<Counted>(bytes[i]), 1U);
  commit_copy<Counted>(copy, counters);
}

}  // namespace

cudaError_t launch_block_private_shared(const span_launch& launch, cudaStream_t stream) {
  if (launch.size == 0) return cudaSuccess;
  const auto kernel =
      launch.counted == bins::letters ? block_private_shared<bins::letters> : block_private_shared<bins::bytes>;
  const launch_shape shape{.blocks = divide_up(launch.size, threads), .threads = threads};
  return queue(kernel, shape, stream, launch.bytes, launch.size, launch.counters);
}

}  // namespace gpuhist::bench::kernels
