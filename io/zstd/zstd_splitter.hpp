// Finds zstd frames by walking the headers of frames and blocks.
#pragma once

#include "io/splitter.hpp"

#include <memory>

namespace gpuhist::io {

/// A splitter of concatenated zstd frames, including skippable ones. It needs neither a seek table nor the sizes that
/// pzstd writes: it walks the block headers, of which there is one for at most 128 KiB of text.
std::unique_ptr<splitter> make_zstd_splitter();

}  // namespace gpuhist::io
