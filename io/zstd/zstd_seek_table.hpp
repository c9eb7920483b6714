// The table at the end of a file in zstd's seekable format (zstd, contrib/seekable_format). Programs use it to find the
// frame that holds an offset of the text. It is a skippable frame: decoders without support for it ignore it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace gpuhist::io {

/// One frame; entries are in the order of the file.
struct seekable_frame {
  std::uint32_t compressed_bytes = 0;
  std::uint32_t text_bytes = 0;
  std::uint32_t checksum = 0;  ///< checksum of the text: the low 32 bits of XXH64, as in the frame
};

/// Limits of the format.
inline constexpr std::size_t max_seekable_frames = 0x8000000;
inline constexpr std::size_t max_seekable_text_bytes = std::size_t{1} << 30U;  // of one frame

/// The table is a skippable frame: a header (magic number, size of the content), entries, a footer (number of frames,
/// descriptor, magic number).
inline constexpr std::uint32_t seek_table_frame_magic = 0x184D2A5E;
inline constexpr std::uint32_t seek_table_magic = 0x8F92EAB1;
inline constexpr std::size_t seek_table_header_bytes = 8;
inline constexpr std::size_t seek_table_footer_bytes = 9;

/// The table, to be written after the last frame. Throws std::length_error for more frames than the format allows.
std::vector<std::byte> zstd_seek_table(std::span<const seekable_frame> frames);

// Where a zstd file can be divided, found without reading its frames: by the seek table at its end, or by the sizes
// that pzstd writes in a skippable frame before each frame.

/// A position between two frames.
struct split_point {
  std::uint64_t stored_bytes = 0;             ///< of the file before it
  std::uint64_t frames = 0;                   ///< before it; skippable ones are not counted
  std::optional<std::uint64_t> text_bytes{};  ///< before it; nothing: not known

  bool operator==(const split_point&) const = default;
};

/// Reads bytes of a file at an offset, and returns how many there are. May throw.
using offset_reader = std::function<std::size_t(std::span<std::byte>, std::uint64_t)>;

/// Points that are at least `apart` bytes apart, without the beginning and the end of the file of `size` bytes. None if
/// the file says nothing of its frames, or if what it says is not consistent. At each point a frame begins, by its
/// magic number; only decoding shows whether the frame before it ends there. Throws what `read` throws.
std::vector<split_point> zstd_split_points(const offset_reader& read, std::uint64_t size, std::uint64_t apart);

/// The end of all frames, with the bytes of their text, by the seek table. Nothing: there is none, or it is not
/// consistent with the size. Throws what `read` throws.
std::optional<split_point> zstd_end_of_frames(const offset_reader& read, std::uint64_t size);

}  // namespace gpuhist::io
