// The counting kernel of the CUDA engine: lane_private over the extents of a chunk, one row per extent.
// lane_counters.cuh has the counters, their additions and their fold. 1024 threads and 32 KiB of counters per block,
// two blocks per multiprocessor.
//
// If a chunk has few extents, all blocks count each extent together, in interleaved tiles, so that they read
// neighbouring memory at any time. If it has many, each block counts one contiguous part of the chunk and iterates over
// the extents in it. In both cases a block folds its counters and adds them to the row of an extent once, at the end of
// its share of the extent.
#include "gpu/cuda/kernels/lane_private.hpp"

#include "gpu/cuda/kernels/extent_search.hpp"
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
constexpr unsigned min_bytes_per_block = 16384;  // one load per thread: for less, the fold costs more than it saves

// Up to this number, all blocks share each extent: every extent then costs every block a fold.
constexpr std::uint32_t few_extents = 4;

using counters = lane_counters<copies>;

struct chunk_task {
  const std::uint8_t* bytes = nullptr;  // aligned to 256
  const extent* extents = nullptr;
  std::uint32_t extent_count = 0;
  std::uint32_t* rows = nullptr;
  std::uint32_t chunk_bytes = 0;
  std::uint32_t bytes_per_block = 0;  // of the part of a block: a multiple of 16
};

// The vectors that one thread counts: from `at` in steps of `step`, below `count`.
struct vector_walk {
  const uint4* vectors;
  std::uint32_t at;
  std::uint32_t step;
  std::uint32_t count;
};

__device__ __forceinline__ void count_vectors(counters& shared_counters, vector_walk walk) {
  for (; walk.at + walk.step < walk.count; walk.at += 2 * walk.step) {
    const uint4 first = load_once(walk.vectors + walk.at);
    const uint4 second = load_once(walk.vectors + walk.at + walk.step);
    shared_counters.add(first);
    shared_counters.add(second);
  }
  if (walk.at < walk.count) shared_counters.add(load_once(walk.vectors + walk.at));
}

// Counts the single bytes at both ends of a part that begins at `bytes`.
__device__ __forceinline__ void count_ends(counters& shared_counters, const std::uint8_t* bytes,
                                           const span_parts& parts) {
  if (threadIdx.x < parts.head) shared_counters.add_byte<0>(bytes[threadIdx.x]);
  if (threadIdx.x < parts.tail) shared_counters.add_byte<0>(bytes[parts.tail_begin() + threadIdx.x]);
}

// Adds the block's counters to a row and clears them.
__device__ __forceinline__ void flush(counters& shared_counters, std::uint32_t* row) {
  using order = fold_layout<copies, threads>;
  __syncthreads();
  const auto sum = shared_counters.fold<threads, std::uint32_t, true>();
  if (threadIdx.x % order::threads_per_value == 0 && sum != 0) atomicAdd(row + order::value(threadIdx.x), sum);
  __syncthreads();
}

__global__ void __launch_bounds__(threads, min_resident(threads, blocks_per_multiprocessor))
    lane_private_parts(const chunk_task task) {
  __shared__ uint4 memory[lane_layout<copies>::bytes / sizeof(uint4)];
  counters shared_counters(reinterpret_cast<std::uint32_t*>(memory));
  shared_counters.clear<threads>();
  __syncthreads();

  const std::uint32_t part_begin = blockIdx.x * task.bytes_per_block;  // inside the chunk: see launch_lane_private
  const std::uint32_t part_end = part_begin + min(task.bytes_per_block, task.chunk_bytes - part_begin);
  for (std::uint32_t i = first_extent_after(task.extents, task.extent_count, part_begin); i < task.extent_count; ++i) {
    const std::uint32_t begin = max(task.extents[i].begin, part_begin);
    const std::uint32_t end = min(task.extents[i].end, part_end);
    if (begin >= part_end) break;
    if (begin >= end) continue;
    const span_parts parts = divide_span(begin, end - begin);
    count_vectors(shared_counters, {.vectors = reinterpret_cast<const uint4*>(task.bytes + begin + parts.head),
                                    .at = threadIdx.x,
                                    .step = threads,
                                    .count = static_cast<std::uint32_t>(parts.vectors)});
    count_ends(shared_counters, task.bytes + begin, parts);
    flush(shared_counters, task.rows + std::size_t{i} * byte_values);
  }
}

// Tiles of all extents are assigned to blocks in one sequence, so that the first blocks do not get the first tile of
// every extent. The first tile of an extent includes the single bytes at both ends; an extent that is not empty has at
// least one tile.
__global__ void __launch_bounds__(threads, min_resident(threads, blocks_per_multiprocessor))
    lane_private_tiles(const chunk_task task) {
  __shared__ uint4 memory[lane_layout<copies>::bytes / sizeof(uint4)];
  counters shared_counters(reinterpret_cast<std::uint32_t*>(memory));
  shared_counters.clear<threads>();
  __syncthreads();

  std::uint32_t first_tile = blockIdx.x;  // number of the first tile of this block in the next extent
  for (std::uint32_t i = 0; i < task.extent_count; ++i) {
    const extent part = task.extents[i];
    if (part.begin >= part.end) continue;
    const span_parts parts = divide_span(part.begin, part.end - part.begin);
    const auto vectors = static_cast<std::uint32_t>(parts.vectors);
    const std::uint32_t tiles = max(1U, static_cast<std::uint32_t>(divide_up(vectors, threads)));
    if (first_tile < tiles) {
      count_vectors(shared_counters, {.vectors = reinterpret_cast<const uint4*>(task.bytes + part.begin + parts.head),
                                      .at = first_tile * threads + threadIdx.x,
                                      .step = gridDim.x * threads,
                                      .count = vectors});
      if (first_tile == 0) count_ends(shared_counters, task.bytes + part.begin, parts);
      flush(shared_counters, task.rows + std::size_t{i} * byte_values);
    }
    first_tile = (first_tile + gridDim.x - tiles % gridDim.x) % gridDim.x;
  }
}

}  // namespace

cudaError_t launch_lane_private(const kernel_launch& launch, cudaStream_t stream) {
  if (launch.chunk_bytes == 0 || launch.extent_count == 0) return cudaSuccess;
  const auto resident = static_cast<std::uint64_t>(launch.multiprocessors) * blocks_per_multiprocessor;
  const std::uint64_t wanted = std::min(resident, divide_up(launch.chunk_bytes, min_bytes_per_block));
  const std::uint64_t part_bytes = divide_up(divide_up(launch.chunk_bytes, wanted), line_bytes) * line_bytes;
  const chunk_task task{.bytes = reinterpret_cast<const std::uint8_t*>(launch.bytes),
                        .extents = launch.extents,
                        .extent_count = launch.extent_count,
                        .rows = launch.rows,
                        .chunk_bytes = launch.chunk_bytes,
                        .bytes_per_block = static_cast<std::uint32_t>(part_bytes)};
  const launch_shape shape{.blocks = divide_up(launch.chunk_bytes, part_bytes),
                           .threads = threads};  // no block is empty
  return queue(launch.extent_count <= few_extents ? lane_private_tiles : lane_private_parts, shape, stream, task);
}

cudaError_t load_lane_private() {
  cudaFuncAttributes attributes;
  const cudaError_t code = cudaFuncGetAttributes(&attributes, lane_private_tiles);
  return code == cudaSuccess ? cudaFuncGetAttributes(&attributes, lane_private_parts) : code;
}

}  // namespace gpuhist::gpu::cuda::kernels
