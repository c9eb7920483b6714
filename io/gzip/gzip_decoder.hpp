// gzip: any number of members, BGZF's blocks among them.
#pragma once

#include "io/decoder.hpp"

#include <memory>

namespace gpuhist::io {

/// A decoder of concatenated gzip members (RFC 1952) over ISA-L; a member is a frame. Verifies the checksum of a header
/// that has one, and checksum and length of each member's text. Zero bytes behind a member are padding. Has no use for
/// limits: what it needs, 180 KB, it holds from the beginning. Throws std::bad_alloc.
std::unique_ptr<decoder> make_gzip_decoder(const decoder_limits& limits);

}  // namespace gpuhist::io
