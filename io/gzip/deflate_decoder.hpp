// Decodes zlib streams (RFC 1950) and raw deflate (RFC 1951) with zlib, which takes no byte after the end of a stream.
#pragma once

#include "io/decoder.hpp"

#include <memory>

namespace gpuhist::io {

/// Each stream is a frame, verified by its Adler-32. A stream with a preset dictionary is refused.
std::unique_ptr<decoder> make_zlib_decoder(const decoder_limits& limits);

/// One stream, verified if its last block ends where the input does: there is no checksum.
std::unique_ptr<decoder> make_deflate_decoder(const decoder_limits& limits);

}  // namespace gpuhist::io
