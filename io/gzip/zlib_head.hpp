// Detects zlib streams (RFC 1950). They have no magic number, so the first bytes are decoded.
#pragma once

#include <cstddef>
#include <span>

namespace gpuhist::io {

/// Whether the first bytes of an input are a zlib stream.
enum class zlib_verdict {
  no,
  perhaps,  ///< undecided; more bytes, or the end of the input, decide
  yes       ///< a header, and blocks that decode as far as there are bytes, or to the end with a matching checksum
};

/// So many bytes that decode are a stream. Fewer bytes suffice if they are a whole stream.
inline constexpr std::size_t zlib_head_bytes = 512;

/// Checks the first zlib_head_bytes.
zlib_verdict looks_like_zlib(std::span<const std::byte> head);

/// Whether a zlib stream may begin so, for an input that its name says is one: any header is admitted, also one of a
/// smaller window or with a dictionary, and what follows decodes.
bool has_zlib_begin(std::span<const std::byte> head);

}  // namespace gpuhist::io
