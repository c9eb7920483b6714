// gzip: any number of members, including the blocks of BGZF.
#pragma once

#include "io/decoder.hpp"
#include "io/part_decoder.hpp"
#include "io/splitter.hpp"

#include <memory>

namespace gpuhist::io {

/// A decoder of concatenated gzip members (RFC 1952), based on ISA-L; a member is a frame. Verifies the checksum of a
/// header that has one, and the checksum and length of the text of each member. Zero bytes after a member are padding.
/// Ignores the limits: it allocates all its memory, 180 KB, at the start. Throws std::bad_alloc.
std::unique_ptr<decoder> make_gzip_decoder(const decoder_limits& limits);

// Finds gzip members whose headers state their length (BGZF).

/// A splitter of BGZF, whose blocks are gzip members with their size in an extra field (SAM/BAM format specification,
/// 4.1). The end of any other member is known only after decoding it: from the first such member on, all data is one
/// frame.
///
/// Decoders that ignore the size accept files in which it is wrong. So a size is only a claim. It is accepted if
/// another block begins at the stated offset: a complete header with a size of its own. The end of a block is reported
/// when that header has been read. The end of the last block is not reported, because no header follows it. If no such
/// header is found, all data from the previous block on is one frame. The decoder detects the remaining cases: a frame
/// that does not end where it should is damaged and never counted in part; a size that skips members up to the header
/// of a later one gives one frame with all of them, and the decoder decodes each.
std::unique_ptr<splitter> make_gzip_splitter();

// Decodes a part of a gzip member before the text ahead of it is known (Kerbiriou and Chikhi 2019; Knespel and Brunst
// 2023).

/// A decoder of parts of gzip data. The unit is a block of deflate, with the header of a member before it. Allocates no
/// memory until it decodes.
std::unique_ptr<part_decoder> make_gzip_part_decoder();

}  // namespace gpuhist::io
