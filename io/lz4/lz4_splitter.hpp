// Finds lz4 frames by the sizes of their blocks.
#pragma once

#include "io/splitter.hpp"

#include <memory>

namespace gpuhist::io {

/// Skippable frames are reported as frames that are not counted. A legacy frame has no end mark: from it on, or from
/// data that is not an lz4 frame, all data is one frame.
std::unique_ptr<splitter> make_lz4_splitter();

}  // namespace gpuhist::io
