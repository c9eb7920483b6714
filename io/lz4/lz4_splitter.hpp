// Finds lz4 frames, and blocks with which a part_decoder can begin, by the sizes of the blocks.
#pragma once

#include "io/splitter.hpp"

#include <cstddef>
#include <memory>

namespace gpuhist::io {

/// Skippable frames are reported as frames that are not counted. A legacy frame has no end mark: from it on, or from
/// data that is not an lz4 frame, all data is one frame.
std::unique_ptr<splitter> make_lz4_splitter();

/// Reports parts of frames with independent blocks: whole blocks, of `part_bytes` compressed bytes or more.
std::unique_ptr<splitter> make_lz4_splitter_with_parts(std::size_t part_bytes);

}  // namespace gpuhist::io
