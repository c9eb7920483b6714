// Decodes a frame whose compressed bytes are in memory, when only the result of the verification is needed.
#pragma once

#include "io/decoder.hpp"

#include <cstddef>
#include <span>

namespace gpuhist::io {

/// Decodes up to the end of the frame, to an error, or to the end of `in`. Discards the text: every call of the decoder
/// overwrites `scratch`. Removes the consumed bytes from the front of `in`. Never returns fill_status::output_full.
inline fill_status discard_frame(decoder& decoder, std::span<const std::byte>& in, std::span<std::byte> scratch) {
  for (;;) {
    const fill_result result = decoder.fill(in, scratch);
    in = in.subspan(result.consumed);
    if (result.status != fill_status::output_full) return result.status;
  }
}

}  // namespace gpuhist::io
