// Finds lz4 frames by the sizes of their blocks.
#pragma once

#include "io/splitter.hpp"

#include <memory>

namespace gpuhist::io {

/// Skippable frames end frames that are not counted. A legacy frame, which has no end of its own, is followed no
/// further, nor is what is no lz4 frame.
std::unique_ptr<splitter> make_lz4_splitter();

}  // namespace gpuhist::io
