// Decodes xz streams.
#pragma once

#include "io/decoder.hpp"

#include <memory>

namespace gpuhist::io {

/// A frame is a block; it is verified when it matches its check and its sizes. Headers, indexes, footers and padding of
/// streams are consumed and not reported, so a stream without blocks has no frame. An input may end after the footer of
/// a stream or its padding, not after a block. From `limits` the decoder uses the windows: the dictionary of each
/// block. It begins within a stream if its start has the context of an xz splitter.
std::unique_ptr<decoder> make_xz_decoder(const decoder_limits& limits);

}  // namespace gpuhist::io
