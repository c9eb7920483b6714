// Phase 5: one thread for each frame places the text of its blocks, and finds the repeated offsets at the begin of
// each.
#pragma once

#include "gpu/cuda/zstd/encoded.hpp"

#include <cstdint>

namespace gpuhist::gpu::cuda::zstd {

GPUHIST_HOST_DEVICE inline verdict link_blocks(const batch_buffers& batch, const encoded_frame& frame,
                                               decoded_frame& to) {
  repeated_offsets offsets{{1, 4, 8}};  // RFC 8878, 3.1.1.5
  for (std::uint32_t i = 0; i < frame.block_count; ++i) {
    const std::uint32_t index = frame.first_block + i;
    decoded_block& block = batch.decoded[index];
    to.block = i;
    if (block.is != verdict::decoded) return block.is;
    block.frame_offset = to.text_bytes;
    block.before = offsets;
    if (block.text_bytes > frame.text_room - to.text_bytes) {
      return frame.content_bytes == unknown_size ? verdict::no_room : verdict::content_size;
    }
    to.text_bytes += block.text_bytes;
    if (batch.blocks[index].type != block_type::compressed) continue;
    const repeated_offsets after = block.after;
    for (unsigned k = 0; k < 3; ++k) {
      offsets.at[k] = encoded_offset::value(after.at[k], block.before);
      if (offsets.at[k] == 0) return verdict::match_offset;
    }
  }
  const bool fits = frame.content_bytes == unknown_size || frame.content_bytes == to.text_bytes;
  return fits ? verdict::decoded : verdict::content_size;
}

/// Phase 5 for frame `index`: writes batch.results[index].
GPUHIST_HOST_DEVICE inline void link_frame(const batch_buffers& batch, std::uint32_t index) {
  decoded_frame result{};
  result.is = link_blocks(batch, batch.frames[index], result);
  batch.results[index] = result;
}

}  // namespace gpuhist::gpu::cuda::zstd
