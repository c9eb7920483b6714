// Decodes lz4 frames, legacy ones included.
#pragma once

#include "io/decoder.hpp"

#include <memory>

namespace gpuhist::io {

/// Of `limits` the windows are heeded: the memory for two blocks of the size that the header states, and where blocks
/// are linked 128 KiB. Each block of a legacy frame, which says nothing of its end, is verified and counted as a frame.
std::unique_ptr<decoder> make_lz4_decoder(const decoder_limits& limits);

}  // namespace gpuhist::io
