// gzip: any number of members, including the blocks of BGZF.
#pragma once

#include "io/decoder.hpp"
#include "io/part_decoder.hpp"

#include <memory>

namespace gpuhist::io {

/// A decoder of concatenated gzip members (RFC 1952), based on ISA-L; a member is a frame. Verifies the checksum of a
/// header that has one, and the checksum and length of the text of each member. Zero bytes after a member are padding.
/// Ignores the limits: it allocates all its memory, 180 KB, at the start. Throws std::bad_alloc.
std::unique_ptr<decoder> make_gzip_decoder(const decoder_limits& limits);

// Decodes a part of a gzip member before the text ahead of it is known (Kerbiriou and Chikhi 2019; Knespel and Brunst
// 2023).

/// A decoder of parts of gzip data. The unit is a block of deflate, with the header of a member before it. Allocates no
/// memory until it decodes.
std::unique_ptr<part_decoder> make_gzip_part_decoder();

}  // namespace gpuhist::io
