// The engine's counting kernel: lane_private over the extents of a chunk, one row an extent. The counters and how they
// are added to and folded are in lane_counters.cuh; 32 KiB a block, 1024 threads, two blocks a multiprocessor.
//
// Where a chunk has few extents, all blocks count each of them together, in interleaved tiles, so that all read one
// neighbourhood at a time. Where it has many, each block takes one contiguous stretch of the chunk and walks the
// extents that lie in it. Either way a block folds its counters and adds them to an extent's row only where its share
// of that extent ends, and only if it has a share.
#include "gpu/cuda/kernels/lane_private.hpp"

#include "gpu/cuda/kernels/lane_counters.cuh"
#include "gpu/cuda/kernels/launch.cuh"
#include "gpu/cuda/kernels/span_parts.hpp"

#include <algorithm>
#include <cstdint>

namespace gpuhist::gpu::cuda::kernels {
namespace {

constexpr unsigned copies = 32;
constexpr unsigned threads = 1024;
constexpr unsigned blocks_per_multiprocessor = 2;
constexpr unsigned min_bytes_per_block = 16384;  // one load a thread: less does not pay for the fold

// Up to so many extents, all blocks share each: every one then costs every block a fold.
constexpr std::uint32_t few_extents = 4;

using counters = lane_counters<copies>;

struct chunk_task {
  const std::uint8_t* bytes = nullptr;  // aligned to 256
  const extent* extents = nullptr;
  std::uint32_t extent_count = 0;
  std::uint32_t* rows = nullptr;
  std::uint32_t chunk_bytes = 0;
  std::uint32_t bytes_per_block = 0;  // of a stretch: a multiple of 16
};

// The vectors of a part of the chunk that one thread counts: from `at` in steps of `step`, below `count`.
struct vector_walk {
  const uint4* vectors;
  std::uint32_t at;
  std::uint32_t step;
  std::uint32_t count;
};

__device__ __forceinline__ void count_vectors(counters& mine, vector_walk walk) {
  for (; walk.at + walk.step < walk.count; walk.at += 2 * walk.step) {
    const uint4 one = load_once(walk.vectors + walk.at);
    const uint4 two = load_once(walk.vectors + walk.at + walk.step);
    mine.add(one);
    mine.add(two);
  }
  if (walk.at < walk.count) mine.add(load_once(walk.vectors + walk.at));
}

// The single bytes at both ends of a part that begins at `bytes`.
__device__ __forceinline__ void count_ends(counters& mine, const std::uint8_t* bytes, const span_parts& parts) {
  if (threadIdx.x < parts.head) mine.add_byte<0>(bytes[threadIdx.x]);
  if (threadIdx.x < parts.tail) mine.add_byte<0>(bytes[parts.tail_begin() + threadIdx.x]);
}

// Adds the block's counters to a row and clears them.
__device__ __forceinline__ void flush(counters& mine, std::uint32_t* row) {
  using order = fold_layout<copies, threads>;
  __syncthreads();
  const auto sum = mine.fold<threads, std::uint32_t, true>();
  if (threadIdx.x % order::threads_per_value == 0 && sum != 0) atomicAdd(row + order::value(threadIdx.x), sum);
  __syncthreads();
}

// The first extent that ends after `at`; extents are sorted, so their ends are.
__device__ std::uint32_t first_extent_after(const extent* extents, std::uint32_t count, std::uint32_t at) {
  std::uint32_t low = 0;
  std::uint32_t high = count;
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (extents[middle].end <= at) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

__global__ void __launch_bounds__(threads, min_resident(threads, blocks_per_multiprocessor))
    lane_private_stretches(const chunk_task task) {
  __shared__ uint4 memory[lane_layout<copies>::bytes / sizeof(uint4)];
  counters mine(reinterpret_cast<std::uint32_t*>(memory));
  mine.clear<threads>();
  __syncthreads();

  const std::uint32_t stretch_begin = blockIdx.x * task.bytes_per_block;  // inside the chunk: see the launch
  const std::uint32_t stretch_end = stretch_begin + min(task.bytes_per_block, task.chunk_bytes - stretch_begin);
  for (std::uint32_t i = first_extent_after(task.extents, task.extent_count, stretch_begin); i < task.extent_count;
       ++i) {
    const std::uint32_t begin = max(task.extents[i].begin, stretch_begin);
    const std::uint32_t end = min(task.extents[i].end, stretch_end);
    if (begin >= stretch_end) break;
    if (begin >= end) continue;
    const span_parts parts = divide_span(begin, end - begin);
    count_vectors(mine, {.vectors = reinterpret_cast<const uint4*>(task.bytes + begin + parts.head),
                         .at = threadIdx.x,
                         .step = threads,
                         .count = static_cast<std::uint32_t>(parts.vectors)});
    count_ends(mine, task.bytes + begin, parts);
    flush(mine, task.rows + std::size_t{i} * byte_values);
  }
}

// Tiles of all extents are dealt out in one round, so that the first blocks do not get the first tile of every extent.
// An extent's first tile has its ends with it: an extent that has any byte has one tile at least.
__global__ void __launch_bounds__(threads, min_resident(threads, blocks_per_multiprocessor))
    lane_private_tiles(const chunk_task task) {
  __shared__ uint4 memory[lane_layout<copies>::bytes / sizeof(uint4)];
  counters mine(reinterpret_cast<std::uint32_t*>(memory));
  mine.clear<threads>();
  __syncthreads();

  std::uint32_t turn = blockIdx.x;  // this block's tile of the next extent is number `turn`
  for (std::uint32_t i = 0; i < task.extent_count; ++i) {
    const extent part = task.extents[i];
    if (part.begin >= part.end) continue;
    const span_parts parts = divide_span(part.begin, part.end - part.begin);
    const auto vectors = static_cast<std::uint32_t>(parts.vectors);
    const std::uint32_t tiles = max(1U, static_cast<std::uint32_t>(divide_up(vectors, threads)));
    if (turn < tiles) {
      count_vectors(mine, {.vectors = reinterpret_cast<const uint4*>(task.bytes + part.begin + parts.head),
                           .at = turn * threads + threadIdx.x,
                           .step = gridDim.x * threads,
                           .count = vectors});
      if (turn == 0) count_ends(mine, task.bytes + part.begin, parts);
      flush(mine, task.rows + std::size_t{i} * byte_values);
    }
    turn = (turn + gridDim.x - tiles % gridDim.x) % gridDim.x;
  }
}

}  // namespace

cudaError_t launch_lane_private(const kernel_launch& what, cudaStream_t stream) {
  if (what.chunk_bytes == 0 || what.extent_count == 0) return cudaSuccess;
  const auto resident = static_cast<std::uint64_t>(what.multiprocessors) * blocks_per_multiprocessor;
  const std::uint64_t wanted = std::min(resident, divide_up(what.chunk_bytes, min_bytes_per_block));
  const std::uint64_t stretch = divide_up(divide_up(what.chunk_bytes, wanted), line_bytes) * line_bytes;
  const chunk_task task{.bytes = reinterpret_cast<const std::uint8_t*>(what.bytes),
                        .extents = what.extents,
                        .extent_count = what.extent_count,
                        .rows = what.rows,
                        .chunk_bytes = what.chunk_bytes,
                        .bytes_per_block = static_cast<std::uint32_t>(stretch)};
  const launch_shape shape{.blocks = divide_up(what.chunk_bytes, stretch), .threads = threads};  // each with bytes
  return queue(what.extent_count <= few_extents ? lane_private_tiles : lane_private_stretches, shape, stream, task);
}

cudaError_t load_lane_private() {
  cudaFuncAttributes attributes;
  const cudaError_t code = cudaFuncGetAttributes(&attributes, lane_private_tiles);
  return code == cudaSuccess ? cudaFuncGetAttributes(&attributes, lane_private_stretches) : code;
}

}  // namespace gpuhist::gpu::cuda::kernels
