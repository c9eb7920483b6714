// The table at the end of an archive in zstd's seekable format, by which programs find the frame that holds an offset
// of the text (zstd, contrib/seekable_format). It is a skippable frame: who does not know it loses nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gpuhist::io {

/// One frame, in the order of the archive.
struct seekable_frame {
  std::uint32_t compressed_bytes = 0;
  std::uint32_t text_bytes = 0;
  std::uint32_t checksum = 0;  ///< of the text: the low 32 bits of XXH64, as in the frame itself
};

/// Limits of the format.
inline constexpr std::size_t max_seekable_frames = 0x8000000;
inline constexpr std::size_t max_seekable_text_bytes = std::size_t{1} << 30U;  // of one frame

/// The table, to be written behind the last frame. Throws std::length_error for more frames than the format allows.
std::vector<std::byte> zstd_seek_table(std::span<const seekable_frame> frames);

}  // namespace gpuhist::io
