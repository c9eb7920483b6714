// Decodes xz streams, and finds their blocks.
#pragma once

#include "io/decoder.hpp"
#include "io/splitter.hpp"

#include <memory>

namespace gpuhist::io {

/// A frame is a block; it is verified when it matches its check and its sizes. Headers, indexes, footers and padding of
/// streams are consumed and not reported, so a stream without blocks has no frame. An input may end after the footer of
/// a stream or its padding, not after a block. From `limits` the decoder uses the windows: the dictionary of each
/// block. It begins within a stream if its start has the context of an xz splitter.
std::unique_ptr<decoder> make_xz_decoder(const decoder_limits& limits);

// Finds the blocks of xz streams without decoding them.

/// A splitter of xz, by the sizes in the headers of blocks, which encoders with several threads write. The end of a
/// block without them is known only after decoding it: from the first such block on, all data is one frame. The ends of
/// streams are reported as well; they are not counted.
std::unique_ptr<splitter> make_xz_splitter();

}  // namespace gpuhist::io
