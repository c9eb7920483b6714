// zstd: any number of frames, including skippable ones, with or without content size and checksum.
#pragma once

#include "io/decoder.hpp"
#include "io/splitter.hpp"

#include <memory>

namespace gpuhist::io {

/// A decoder of concatenated zstd frames (RFC 8878), based on the streaming interface of libzstd, and for frames that
/// are decoded ahead (io/zstd/zstd_parts.hpp) on a decoder of its own. Parses the header of each frame itself, so that
/// a window above the limit is refused (with its size and --memory-limit) before it is allocated. Throws
/// std::bad_alloc.
std::unique_ptr<decoder> make_zstd_decoder(const decoder_limits& limits);

/// For tests: libzstd gets the rest of a frame after `most_alone` bytes of blocks of which none was decoded ahead.
std::unique_ptr<decoder> make_zstd_decoder_that_hands_over(const decoder_limits& limits, std::size_t most_alone);

// Finds zstd frames by walking the headers of frames and blocks.

/// A splitter of concatenated zstd frames, including skippable ones. It needs neither a seek table nor the sizes that
/// pzstd writes: it walks the block headers, of which there is one for at most 128 KiB of text.
std::unique_ptr<splitter> make_zstd_splitter();

/// For tests: frames of any size have parts, of `part_bytes` bytes or more.
std::unique_ptr<splitter> make_zstd_splitter_with_parts(std::size_t part_bytes);

}  // namespace gpuhist::io
