// Which frames phase 6 divides into parts, and what it does at once.
#pragma once

#include "gpu/cuda/zstd/encoded.hpp"

#include <cstddef>
#include <cstdint>

namespace gpuhist::gpu::cuda::zstd {

/// Some parts of a frame, which follow each other, and whose symbols fit into the memory.
struct part_segment {
  static constexpr std::uint32_t blocks_of_part = 2;
  static constexpr std::uint32_t group_bytes = 4;  ///< bytes whose symbols are loaded at once
  static constexpr std::uint32_t symbols_of_part = blocks_of_part * max_block_bytes + group_bytes;
  /// With less memory, frames are not divided.
  static constexpr std::uint32_t min_symbols = 4 * symbols_of_part;
  /// Teams that write a part together. Each has every pieces_of_part-th row of groups.
  static constexpr unsigned pieces_of_part = 64;

  std::uint32_t frame = 0;
  std::uint32_t first_block = 0;
  std::uint32_t end_block = 0;
  std::uint32_t first_part = 0;  ///< of the memory for symbols
  std::uint32_t counters = 0;    ///< of batch_buffers::progress

  /// All parts of frame `index`.
  static part_segment of(const encoded_frame& frame, std::uint32_t index) {
    return {.frame = index, .first_block = frame.first_block, .end_block = frame.first_block + frame.block_count};
  }

  GPUHIST_HOST_DEVICE std::uint32_t parts() const {
    return (end_block - first_block + blocks_of_part - 1) / blocks_of_part;
  }
};

/// Whether phase 6 is faster if it divides a frame of a batch with so much text into parts. As a whole, a frame takes
/// as long as 48 times its text in parts. A checksum takes nearly as long, so it is then for the host, which adds 6
/// times as many bytes of one text after the other as the device adds of each at the same time (docs/tuning.md).
inline bool is_faster_in_parts(const encoded_frame& frame, std::uint64_t text_of_batch, std::uint32_t symbol_room) {
  constexpr std::uint64_t min_text = std::uint64_t{2} << 20U;
  const std::uint64_t times = frame.has_checksum != 0 ? 6 : 48;
  return frame.text_room >= min_text && text_of_batch <= times * frame.text_room &&
         symbol_room >= part_segment::min_symbols;
}

/// How many frames of a batch are.
inline constexpr std::size_t max_frames_in_parts = 48;

}  // namespace gpuhist::gpu::cuda::zstd
