// zstd: any number of frames, skippable ones among them, with or without content size and checksum.
#pragma once

#include "io/decoder.hpp"

#include <memory>

namespace gpuhist::io {

/// A decoder of concatenated zstd frames (RFC 8878) over libzstd's streaming interface. Reads each frame's header
/// itself, so that a window over the limit is refused (naming its size and --memory-limit) before it is allocated.
/// Throws std::bad_alloc.
std::unique_ptr<decoder> make_zstd_decoder(const decoder_limits& limits);

}  // namespace gpuhist::io
