// Where a zstd file can be divided, found without reading its frames: by the seek table at its end, or by the sizes
// that pzstd writes in a skippable frame before each frame.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace gpuhist::io {

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
/// the file says nothing of its frames, or if what it says is not consistent. At each point a frame begins, by
/// its magic number; only decoding shows whether the frame before it ends there. Throws what `read` throws.
std::vector<split_point> zstd_split_points(const offset_reader& read, std::uint64_t size, std::uint64_t apart);

}  // namespace gpuhist::io
