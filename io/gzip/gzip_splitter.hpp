// Members of gzip, where their headers say how long they are.
#pragma once

#include "io/splitter.hpp"

#include <memory>

namespace gpuhist::io {

/// A splitter of BGZF, whose blocks are members with their size in an extra field (SAM/BAM format specification, 4.1).
/// Where another member ends is known only to who decodes it: from the first such member on, all is one frame.
///
/// A size may be wrong in a file that decoders which ignore it accept. So it is a claim, which counts only where
/// another block begins at the place that it gives: a complete header with a size of its own. The end of a block is
/// reported when that header has been read, and the end of the last block, after which there is nothing, is not
/// reported. Where no such header is found, all from the block before on is one frame. What a header cannot rule out,
/// the decoder does: a frame that does not end where it should is damaged, never counted in part; and a size that
/// passes over members to the header of a later one makes one frame of them all, of which the decoder decodes each.
std::unique_ptr<splitter> make_gzip_splitter();

}  // namespace gpuhist::io
