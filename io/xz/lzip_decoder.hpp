// Decodes lzip members, and streams of the older format .lzma ("LZMA alone").
#pragma once

#include "io/decoder.hpp"

#include <memory>

namespace gpuhist::io {

/// A frame is a member. From `limits` it uses the windows: the dictionary that the header of a member states.
std::unique_ptr<decoder> make_lzip_decoder(const decoder_limits& limits);

/// A frame is the only stream of such a file. It has no checksum: it is verified if it ends cleanly. The format has no
/// magic number: data with a header that no encoder writes is treated as another format, as in xz.
std::unique_ptr<decoder> make_lzma_decoder(const decoder_limits& limits);

}  // namespace gpuhist::io
