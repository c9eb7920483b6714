// Decodes the format of compress (`.Z`).
#pragma once

#include "io/decoder.hpp"

#include <memory>

namespace gpuhist::io {

/// The whole input is one frame. The format has neither an end mark nor a checksum: the frame ends with the input, and
/// `frame_verified` is never returned. missing_at_end() is empty if the last code is complete; most truncations leave a
/// partial code, some do not. From `limits` it uses the windows: 256 KiB for the table of strings.
///
/// Implemented here because no library decodes the format from pieces. The format is that of ncompress 4.2
/// (compress.c): Welch, "A Technique for High-Performance Data Compression" (1984), with codes of 9 to at most 16 bits.
/// Files with a maximum of 9 bits are refused: ncompress writes such files, but cannot read them either.
std::unique_ptr<decoder> make_compress_decoder(const decoder_limits& limits);

}  // namespace gpuhist::io
