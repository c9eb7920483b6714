// Decodes bzip2 streams.
#pragma once

#include "io/decoder.hpp"

#include <memory>

namespace gpuhist::io {

/// A frame is a stream. From `limits` it uses the windows: the memory for a block of the size that the header states,
/// up to 3.5 MiB.
std::unique_ptr<decoder> make_bzip2_decoder(const decoder_limits& limits);

}  // namespace gpuhist::io
