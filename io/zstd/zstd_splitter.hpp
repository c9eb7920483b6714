// Frames of zstd, found by walking the headers of frames and blocks.
#pragma once

#include "io/splitter.hpp"

#include <memory>

namespace gpuhist::io {

/// A splitter of concatenated zstd frames, skippable ones among them. Needs neither a seek table nor pzstd's sizes: the
/// headers that it walks are in the bytes anyway, every 128 KiB of text at the most.
std::unique_ptr<splitter> make_zstd_splitter();

}  // namespace gpuhist::io
