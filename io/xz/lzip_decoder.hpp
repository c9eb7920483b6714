// Decodes lzip members, and streams of the format before xz (.lzma, "LZMA alone").
#pragma once

#include "io/decoder.hpp"

#include <memory>

namespace gpuhist::io {

/// A frame is a member. Of `limits` the windows are heeded: the dictionary that a member's header states.
std::unique_ptr<decoder> make_lzip_decoder(const decoder_limits& limits);

/// A frame is the one stream that such a file holds. It has no checksum: it is verified where it ends cleanly. What has
/// a header that no encoder writes is taken for another format, as xz does it, because there is no magic number.
std::unique_ptr<decoder> make_lzma_decoder(const decoder_limits& limits);

}  // namespace gpuhist::io
