// Decodes lz4 frames, legacy ones included, and finds their ends.
#pragma once

#include "io/decoder.hpp"
#include "io/splitter.hpp"

#include <cstddef>
#include <memory>

namespace gpuhist::io {

/// From `limits` it uses the windows: the memory for two blocks of the size that the header states, and 128 KiB more if
/// blocks are linked. A legacy frame has no end mark: each of its blocks is verified and counted as a frame.
std::unique_ptr<decoder> make_lz4_decoder(const decoder_limits& limits);

// Finds lz4 frames, and blocks with which a part_decoder can begin, by the sizes of the blocks.

/// Skippable frames are reported as frames that are not counted. A legacy frame has no end mark: from it on, or from
/// data that is not an lz4 frame, all data is one frame.
std::unique_ptr<splitter> make_lz4_splitter();

/// Reports parts of frames with independent blocks: whole blocks, of `part_bytes` compressed bytes or more.
std::unique_ptr<splitter> make_lz4_splitter_with_parts(std::size_t part_bytes);

}  // namespace gpuhist::io
