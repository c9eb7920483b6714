// What a decoder of xz has to know if it does not begin at the start of the input.
#pragma once

#include "io/decoder.hpp"
#include "io/xz/xz_index.hpp"

#include <lzma.h>

#include <cstdint>
#include <optional>

namespace gpuhist::io {

/// The position between two blocks, before an index, or between two streams.
struct xz_context final : frame_context {
  std::uint64_t streams = 0;        ///< before this position, without the open one
  std::optional<lzma_check> check;  ///< of the open stream; nothing: no stream is open
  xz_block_record blocks;           ///< of the open stream, before this position
};

}  // namespace gpuhist::io
