// Decodes brotli (RFC 7932) with libbrotlidec.
#pragma once

#include "io/decoder.hpp"

#include <memory>

namespace gpuhist::io {

/// A file holds one stream, as for the command brotli. The format has an end mark, but neither a magic number nor a
/// checksum: the stream is verified if it ends cleanly. Large windows (of more than 24 bits) are refused. From `limits`
/// it uses the windows: up to 16 MiB.
std::unique_ptr<decoder> make_brotli_decoder(const decoder_limits& limits);

}  // namespace gpuhist::io
