// Decodes files of compress (`.Z`).
#pragma once

#include "io/decoder.hpp"

#include <memory>

namespace gpuhist::io {

/// The whole input is one frame, which has neither an end mark nor a checksum: it ends with the input, and
/// `frame_verified` is never said. missing_at_end() is empty where the last code is whole; most cuts leave a part of
/// one, some do not. Of `limits` the windows are heeded: 256 KiB for the table of strings.
///
/// Written here, because no library decodes it from pieces. The format is that of ncompress 4.2 (compress.c), Welch's
/// "A Technique for High-Performance Data Compression" (1984) with codes of 9 bits at first and 10 to 16 at the most.
/// What ncompress writes with 9 at the most not even ncompress reads; it is refused.
std::unique_ptr<decoder> make_compress_decoder(const decoder_limits& limits);

}  // namespace gpuhist::io
