// zlib streams (RFC 1950), which have no magic number: known by decoding what there is of them.
#pragma once

#include <cstddef>
#include <span>

namespace gpuhist::io {

/// What the first bytes of an input say of its being a zlib stream.
enum class zlib_verdict {
  no,
  perhaps,  ///< so far; more bytes, or the end of the input, decide
  yes       ///< a header, and blocks that decode for as long as there are bytes, or to the end and its checksum
};

/// `enough`: so many bytes that decode make it certain. Fewer do where they are a whole stream.
zlib_verdict looks_like_zlib(std::span<const std::byte> head, std::size_t enough);

}  // namespace gpuhist::io
