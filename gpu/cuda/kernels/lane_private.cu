// The counting kernel of the CUDA engine: lane_private over the extents of a chunk, one row per extent.
// lane_counters.cuh has the counters, their additions and their fold. 1024 threads and 32 KiB of counters per block,
// two blocks per multiprocessor.
//
// chunk_shares.hpp has the division of the extents among blocks. A block folds its counters and adds them to the row of
// an extent once, at the end of its share of the extent.
#include "gpu/cuda/kernels/counting_kernels.hpp"

#include "gpu/cuda/kernels/chunk_shares.hpp"
#include "gpu/cuda/kernels/lane_counters.cuh"
#include "gpu/cuda/kernels/launch.cuh"

#include <cstdint>

namespace gpuhist::gpu::cuda::kernels {
namespace {

constexpr unsigned copies = 32;
constexpr unsigned threads = 1024;
constexpr unsigned blocks_per_multiprocessor = 2;
constexpr unsigned min_bytes_per_block = 16384;  // one load per thread: for less, the fold costs more than it saves

using counters = lane_counters<copies>;

__device__ __forceinline__ void count_vectors(counters& shared_counters, const block_share& share) {
  const auto* const vectors = reinterpret_cast<const uint4*>(share.vectors());
  const std::uint32_t count = share.vector_count();
  std::uint32_t at = share.first_vector + threadIdx.x;
  for (; at + share.step < count; at += 2 * share.step) {
    const uint4 first = load_once(vectors + at);
    const uint4 second = load_once(vectors + at + share.step);
    shared_counters.add(first);
    shared_counters.add(second);
  }
  if (at < count) shared_counters.add(load_once(vectors + at));
}

// Counts the single bytes at both ends of a part.
__device__ __forceinline__ void count_ends(counters& shared_counters, const block_share& share) {
  const aligned_span& aligned = share.aligned;
  if (threadIdx.x < aligned.head) shared_counters.add_byte<0>(share.bytes[threadIdx.x]);
  if (threadIdx.x < aligned.tail) shared_counters.add_byte<0>(share.bytes[aligned.tail_begin() + threadIdx.x]);
}

// Adds the block's counters to a row and clears them.
__device__ __forceinline__ void flush(counters& shared_counters, std::uint32_t* row) {
  using order = fold_layout<copies, threads>;
  __syncthreads();
  const auto sum = shared_counters.fold<threads, std::uint32_t, true>();
  if (threadIdx.x % order::threads_per_value == 0 && sum != 0) atomicAdd(row + order::value(threadIdx.x), sum);
  __syncthreads();
}

template <class Shares>
__device__ __forceinline__ void count_shares(const divided_chunk& chunk, Shares shares) {
  __shared__ uint4 memory[lane_layout<copies>::bytes / sizeof(uint4)];
  counters shared_counters(reinterpret_cast<std::uint32_t*>(memory));
  shared_counters.clear<threads>();
  __syncthreads();
  for (block_share share; shares.next(share);) {
    count_vectors(shared_counters, share);
    if (share.ends) count_ends(shared_counters, share);
    flush(shared_counters, chunk.rows + std::size_t{share.extent} * byte_values);
  }
}

__global__ void __launch_bounds__(threads, min_resident(threads, blocks_per_multiprocessor))
    lane_private_contiguous(const divided_chunk chunk) {
  count_shares(chunk, contiguous_shares(chunk, blockIdx.x, threads));
}

__global__ void __launch_bounds__(threads, min_resident(threads, blocks_per_multiprocessor))
    lane_private_tiles(const divided_chunk chunk) {
  count_shares(chunk, tile_shares(chunk, blockIdx.x, gridDim.x, threads));
}

}  // namespace

cudaError_t launch_lane_private(const kernel_launch& launch, cudaStream_t stream) {
  if (launch.chunk_bytes == 0 || launch.extent_count == 0) return cudaSuccess;
  const divided_chunk chunk = divide_chunk(launch, blocks_per_multiprocessor, min_bytes_per_block);
  const launch_shape shape{.blocks = chunk.blocks(), .threads = threads};
  return queue(chunk.in_tiles() ? lane_private_tiles : lane_private_contiguous, shape, stream, chunk);
}

cudaError_t load_lane_private() {
  cudaFuncAttributes attributes;
  const cudaError_t code = cudaFuncGetAttributes(&attributes, lane_private_tiles);
  return code == cudaSuccess ? cudaFuncGetAttributes(&attributes, lane_private_contiguous) : code;
}

}  // namespace gpuhist::gpu::cuda::kernels
