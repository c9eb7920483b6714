// Decodes xz streams.
#pragma once

#include "io/decoder.hpp"

#include <memory>

namespace gpuhist::io {

/// A frame is a stream with all its blocks. From `limits` it uses the windows: the dictionary of each block. The
/// decoder may request a larger window between two blocks of a stream.
std::unique_ptr<decoder> make_xz_decoder(const decoder_limits& limits);

}  // namespace gpuhist::io
