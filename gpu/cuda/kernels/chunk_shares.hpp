// How the blocks of a kernel share the extents of a chunk. A block gets a sequence of shares; for each it counts and
// then adds its counters to the row of the extent once. Tested on the host.
//
// If a chunk has few extents, all blocks count each extent together, in interleaved tiles of one vector for each
// thread, so that they read neighbouring memory at any time:
//
//     extent 0    | tile 0: block 0 | tile 1: block 1 | tile 2: block 2 | tile 3: block 0 |
//     extent 1    | tile 4: block 1 | tile 5: block 2 | ...
//
// If it has many, each block counts one contiguous part of the chunk and iterates over the extents in it:
//
//     chunk       | part of block 0         | part of block 1         | ...
//     extents     | 0 |  1  |   2   |  3         | 4 | 5 | ...
#pragma once

#include "gpu/cuda/kernels/aligned_span.hpp"
#include "gpu/cuda/kernels/extent_search.hpp"
#include "gpu/cuda/runtime.hpp"
#include "gpu/host_device.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace gpuhist::gpu::cuda::kernels {

/// Up to this number of extents, all blocks share each extent: every extent then costs every block a flush.
inline constexpr std::uint32_t few_extents = 4;

/// A chunk and its division among blocks.
struct divided_chunk {
  const std::uint8_t* bytes = nullptr;  ///< aligned to 256
  const extent* extents = nullptr;
  std::uint32_t extent_count = 0;
  std::uint32_t* rows = nullptr;
  std::uint32_t chunk_bytes = 0;
  std::uint32_t bytes_per_block = 0;  ///< of the part of a block: a multiple of 128

  [[nodiscard]] bool in_tiles() const { return extent_count <= few_extents; }

  /// No block is empty.
  [[nodiscard]] std::uint64_t blocks() const { return divide_up(chunk_bytes, bytes_per_block); }
};

/// Divides the chunk of a launch, which has at least one byte, among at most `resident` blocks for each multiprocessor,
/// of at least about `min_bytes` each.
inline divided_chunk divide_chunk(const kernel_launch& launch, unsigned resident, std::uint64_t min_bytes) {
  const std::uint64_t wanted =
      std::min(static_cast<std::uint64_t>(launch.multiprocessors) * resident, divide_up(launch.chunk_bytes, min_bytes));
  return {.bytes = reinterpret_cast<const std::uint8_t*>(launch.bytes),
          .extents = launch.extents,
          .extent_count = launch.extent_count,
          .rows = launch.rows,
          .chunk_bytes = launch.chunk_bytes,
          .bytes_per_block =
              static_cast<std::uint32_t>(divide_up(divide_up(launch.chunk_bytes, wanted), line_bytes) * line_bytes)};
}

/// What a block counts at once: vectors `first_vector`, `first_vector` + `step`, ... and the `step`s of its threads
/// after each, of a part of one extent.
struct block_share {
  std::uint32_t extent = 0;             ///< index of the extent and of its row
  const std::uint8_t* bytes = nullptr;  ///< of the part that `aligned` divides
  aligned_span aligned{};
  std::uint32_t first_vector = 0;  ///< of the first thread of the block
  std::uint32_t step = 0;          ///< from a vector of a thread to its next one
  bool ends = false;               ///< the single bytes at both ends of the part belong to this share
  bool has_before = false;         ///< the byte before `bytes` is in the extent, too

  [[nodiscard]] GPUHIST_HOST_DEVICE const std::uint8_t* vectors() const { return bytes + aligned.head; }
  [[nodiscard]] GPUHIST_HOST_DEVICE std::uint32_t vector_count() const {
    return static_cast<std::uint32_t>(aligned.vectors);
  }
};

/// The shares of a block if each block counts one contiguous part.
class contiguous_shares {
 public:
  GPUHIST_HOST_DEVICE contiguous_shares(const divided_chunk& chunk, std::uint32_t block, std::uint32_t threads)
      : chunk_(chunk), threads_(threads), begin_(block * chunk.bytes_per_block), end_(end_of(chunk, begin_)) {
    next_ = first_extent_after(chunk.extents, chunk.extent_count, begin_);
  }

  /// False: there is no other share.
  GPUHIST_HOST_DEVICE bool next(block_share& share) {
    for (; next_ < chunk_.extent_count; ++next_) {
      const extent whole = chunk_.extents[next_];
      const std::uint32_t begin = whole.begin < begin_ ? begin_ : whole.begin;
      const std::uint32_t end = whole.end < end_ ? whole.end : end_;
      if (begin >= end_) return false;
      if (begin >= end) continue;
      share = {.extent = next_++,
               .bytes = chunk_.bytes + begin,
               .aligned = divide_span(begin, end - begin),
               .first_vector = 0,
               .step = threads_,
               .ends = true,
               .has_before = begin > whole.begin};
      return true;
    }
    return false;
  }

 private:
  GPUHIST_HOST_DEVICE static std::uint32_t end_of(const divided_chunk& chunk, std::uint32_t begin) {
    const std::uint32_t rest = chunk.chunk_bytes - begin;  // not zero: no block is empty
    return begin + (rest < chunk.bytes_per_block ? rest : chunk.bytes_per_block);
  }

  const divided_chunk& chunk_;
  std::uint32_t threads_;
  std::uint32_t begin_;
  std::uint32_t end_;
  std::uint32_t next_ = 0;
};

/// The shares of a block if all blocks count each extent together. Tiles of all extents are assigned to blocks in one
/// sequence, so that the first blocks do not get the first tile of every extent. The first tile of an extent includes
/// the single bytes at both ends; an extent that is not empty has at least one tile.
class tile_shares {
 public:
  GPUHIST_HOST_DEVICE tile_shares(const divided_chunk& chunk, std::uint32_t block, std::uint32_t blocks,
                                  std::uint32_t threads)
      : chunk_(chunk), blocks_(blocks), threads_(threads), first_tile_(block) {}

  /// False: there is no other share.
  GPUHIST_HOST_DEVICE bool next(block_share& share) {
    for (; next_ < chunk_.extent_count; ++next_) {
      const extent whole = chunk_.extents[next_];
      if (whole.begin >= whole.end) continue;
      const aligned_span aligned = divide_span(whole.begin, whole.end - whole.begin);
      const auto needed = static_cast<std::uint32_t>(divide_up(aligned.vectors, threads_));
      const std::uint32_t tiles = needed == 0 ? 1 : needed;
      const std::uint32_t tile = first_tile_;
      first_tile_ = (first_tile_ + blocks_ - tiles % blocks_) % blocks_;
      if (tile >= tiles) continue;
      share = {.extent = next_++,
               .bytes = chunk_.bytes + whole.begin,
               .aligned = aligned,
               .first_vector = tile * threads_,
               .step = blocks_ * threads_,
               .ends = tile == 0,
               .has_before = false};
      return true;
    }
    return false;
  }

 private:
  const divided_chunk& chunk_;
  std::uint32_t blocks_;
  std::uint32_t threads_;
  std::uint32_t first_tile_;  // number of the first tile of this block in the next extent
  std::uint32_t next_ = 0;
};

}  // namespace gpuhist::gpu::cuda::kernels
