// Decodes bzip2 streams.
#pragma once

#include "io/decoder.hpp"

#include <memory>

namespace gpuhist::io {

/// A frame is a stream. From `limits` it uses the windows: the memory for a block of the size that the header states,
/// 9 bytes for each byte, up to 7.8 MiB. Takes over blocks of bzip2_part (io/bzip2/bzip2_parts.hpp). Accepts exactly
/// the streams that libbz2 accepts.
std::unique_ptr<decoder> make_bzip2_decoder(const decoder_limits& limits);

}  // namespace gpuhist::io
