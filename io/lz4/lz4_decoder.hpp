// Decodes lz4 frames, legacy ones included.
#pragma once

#include "io/decoder.hpp"

#include <memory>

namespace gpuhist::io {

/// From `limits` it uses the windows: the memory for two blocks of the size that the header states, and 128 KiB more if
/// blocks are linked. A legacy frame has no end mark: each of its blocks is verified and counted as a frame.
std::unique_ptr<decoder> make_lz4_decoder(const decoder_limits& limits);

}  // namespace gpuhist::io
