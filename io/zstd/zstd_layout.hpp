// The layout of a zstd frame that lies in memory, perhaps in several pieces: its blocks, and its checksum. Only the
// headers of frame and blocks are read.
#pragma once

#include "io/zstd/zstd_blocks.hpp"
#include "io/zstd/zstd_frame.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace gpuhist::io {

/// Compressed bytes in memory.
struct byte_access {
  std::uint64_t size = 0;
  /// Copies the bytes from `at` on. Precondition: there are as many.
  std::function<void(std::uint64_t at, std::span<std::byte> to)> copy{};
};

/// Borrows `bytes`.
byte_access access_to(std::span<const std::byte> bytes);

/// The number in `count` bytes, 4 or fewer, little endian. Precondition: they are there.
std::uint32_t number_at(const byte_access& bytes, std::uint64_t at, std::size_t count);

/// The header of a block at offset `at`. Nothing: it is not whole.
std::optional<zstd_block_header> zstd_block_header_at(const byte_access& bytes, std::uint64_t at);

struct zstd_block {
  std::uint64_t at = 0;  ///< offset of its content, where the frame's is counted from
  zstd_block_header header{0};
};

struct zstd_layout {
  zstd_frame_header header;
  std::vector<zstd_block> blocks;  ///< empty for a skippable frame
  std::optional<std::uint32_t> checksum;
  std::uint64_t end = 0;  ///< offset of the byte after the frame
};

/// The frame that begins at offset `at`. Nothing: it is not a whole frame, or a header is invalid.
std::optional<zstd_layout> lay_out_zstd_frame(const byte_access& bytes, std::uint64_t at);

}  // namespace gpuhist::io
