// Divides the reads of one span among the blocks of a grid. Whole rounds need no bounds checks. The rest, less than one
// round, is spread over all blocks again.
#pragma once

#include "gpu/cuda/kernel_tuning.hpp"
#include "gpu/cuda/kernels/aligned_span.hpp"
#include "gpu/cuda/kernels/lane_counters.cuh"
#include "gpu/cuda/span/lane_private_span.hpp"

#include <cuda_runtime.h>

#include <cstdint>

namespace gpuhist::gpu::cuda::kernels {

struct span_task {
  const std::uint8_t* bytes = nullptr;
  aligned_span aligned;
  std::uint32_t rounds = 0;  ///< tiles per block; with tickets: number of all tiles
  unsigned long long* counters = nullptr;
  unsigned* ticket = nullptr;  ///< for tile_walk::ticket; zero before the launch
};

/// Reads the part of each tile that belongs to one thread.
template <kernel_tuning Tuning>
class span_reader {
 public:
  static constexpr std::uint64_t tile_vectors = Tuning.tile_bytes() / vector_bytes;
  static constexpr bool drawn = Tuning.walk == tile_walk::ticket;

  explicit __device__ __forceinline__ span_reader(const span_task& task)
      : vectors_(reinterpret_cast<const uint4*>(task.bytes + task.aligned.head)), count_(task.aligned.vectors) {
    const std::uint64_t block = blockIdx.x;
    const std::uint64_t blocks = drawn ? 1 : gridDim.x;  // with tickets, `rounds` counts all tiles
    first_ = (Tuning.walk == tile_walk::contiguous ? block * task.rounds : block) * tile_vectors + threadIdx.x;
    rest_ = task.rounds * blocks * tile_vectors + block * Tuning.threads + threadIdx.x;
  }

  /// Loads from the tile of the block in this round; with tickets, from the tile of this number.
  __device__ __forceinline__ void load(uint4 (&into)[Tuning.loads], std::uint32_t round) const {
    const uint4* at = vectors_;
    if constexpr (Tuning.walk == tile_walk::ticket) {
      at += round * tile_vectors + threadIdx.x;
    } else if constexpr (Tuning.walk == tile_walk::contiguous) {
      at += first_ + round * tile_vectors;
    } else {
      at += first_ + round * (gridDim.x * tile_vectors);
    }
#pragma unroll
    for (unsigned k = 0; k < Tuning.loads; ++k) into[k] = load_once(at + k * Tuning.threads);
  }

  /// Loads the vectors after the last whole round: at most Tuning.loads per thread.
  __device__ __forceinline__ void load_rest(uint4 (&into)[Tuning.loads]) const {
#pragma unroll
    for (unsigned k = 0; k < Tuning.loads; ++k) {
      if (has_rest(k)) into[k] = load_once(vectors_ + rest_vector(k));
    }
  }

  [[nodiscard]] __device__ __forceinline__ bool has_rest(unsigned k) const { return rest_vector(k) < count_; }

 private:
  // With tickets the rest is less than a tile, and block 0 counts it; the other blocks begin past the end.
  [[nodiscard]] __device__ __forceinline__ std::uint64_t rest_vector(unsigned k) const {
    if constexpr (drawn) return blockIdx.x == 0 ? rest_ + k * Tuning.threads : count_;
    return rest_ + std::uint64_t{k} * gridDim.x * Tuning.threads;
  }

  const uint4* vectors_;
  std::uint64_t count_;
  std::uint64_t first_;
  std::uint64_t rest_;
};

/// The argument of a kernel and its number of blocks.
struct span_launch_plan {
  span_task task;
  std::uint64_t blocks = 1;
};

/// Divides a span among as many blocks as are resident at the same time.
template <kernel_tuning Tuning>
span_launch_plan plan_span(const span_launch& launch, unsigned blocks_per_multiprocessor) {
  using reader = span_reader<Tuning>;
  const auto resident = static_cast<std::uint64_t>(launch.multiprocessors) * blocks_per_multiprocessor;
  const std::uint64_t blocks = blocks_for(launch.size, resident, std::uint64_t{vector_bytes} * Tuning.threads);
  const aligned_span aligned = divide_span(reinterpret_cast<std::uintptr_t>(launch.bytes), launch.size);
  const std::uint64_t tiles = aligned.vectors / reader::tile_vectors;
  return {.task = {.bytes = launch.bytes,
                   .aligned = aligned,
                   .rounds = static_cast<std::uint32_t>(reader::drawn ? tiles : tiles / blocks),
                   .counters = launch.counters,
                   .ticket = static_cast<unsigned*>(launch.scratch)},
          .blocks = blocks};
}

}  // namespace gpuhist::gpu::cuda::kernels
