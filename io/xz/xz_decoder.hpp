// Decodes xz streams.
#pragma once

#include "io/decoder.hpp"

#include <memory>

namespace gpuhist::io {

/// A frame is a stream, with all its blocks. Of `limits` the windows are heeded: the dictionary of each block, whose
/// decoder may ask for a larger one between two blocks of a stream as well.
std::unique_ptr<decoder> make_xz_decoder(const decoder_limits& limits);

}  // namespace gpuhist::io
