// Finds the members of gzip: by the sizes that BGZF states, or by their headers.
#pragma once

#include "io/splitter.hpp"

#include <memory>

namespace gpuhist::io {

/// A splitter of BGZF, whose blocks are gzip members with their size in an extra field (SAM/BAM format specification,
/// 4.1). The end of any other member is known only after decoding it: without guesses, from the first such member on,
/// all data is one frame.
///
/// Decoders that ignore the size accept files in which it is wrong. So a size is only a claim. It is accepted if
/// another block begins at the stated offset: a complete header with a size of its own. The end of a block is reported
/// when that header has been read. The end of the last block is not reported, because no header follows it. If no such
/// header is found, all data from the previous block on is one frame. The decoder detects the remaining cases: a frame
/// that does not end where it should is damaged and never counted in part; a size that skips members up to the header
/// of a later one gives one frame with all of them, and the decoder decodes each.
///
/// With guesses: a member without a size ends where 10 bytes follow that writers of gzip begin a member with, if the 4
/// bytes before them are a length that its text can have. (WARC has a member for each record; logs that are appended
/// to have one for each day.)
std::unique_ptr<splitter> make_gzip_splitter();

}  // namespace gpuhist::io
