// zstd: any number of frames, including skippable ones, with or without content size and checksum.
#pragma once

#include "io/decoder.hpp"

#include <memory>

namespace gpuhist::io {

/// A decoder of concatenated zstd frames (RFC 8878), based on the streaming interface of libzstd. Parses the header of
/// each frame itself, so that a window above the limit is refused (with its size and --memory-limit) before it is
/// allocated. Throws std::bad_alloc.
std::unique_ptr<decoder> make_zstd_decoder(const decoder_limits& limits);

}  // namespace gpuhist::io
