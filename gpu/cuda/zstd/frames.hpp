// Phase 5: one thread for each frame places the text of its blocks, and finds the repeated offsets at the begin of
// each.
#pragma once

#include "gpu/cuda/zstd/encoded.hpp"

#include <cstdint>

namespace gpuhist::gpu::cuda::zstd {

/// How a block ends, as the phases before have found.
struct block_end {
  verdict is;
  block_type type;
  std::uint32_t text_bytes;
  repeated_offsets after;
};

/// A frame up to a block.
struct frame_link {
  const batch_buffers& batch;
  const encoded_frame& frame;
  decoded_frame& to;
  repeated_offsets offsets{{1, 4, 8}};  // RFC 8878, 3.1.1.5

  /// Adds block `i` of the frame.
  GPUHIST_HOST_DEVICE verdict add(std::uint32_t i, const block_end& end) {
    decoded_block& block = batch.decoded[frame.first_block + i];
    to.block = i;
    if (end.is != verdict::decoded) return end.is;
    const repeated_offsets before = offsets;
    block.frame_offset = to.text_bytes;
    block.before = before;
    if (end.text_bytes > frame.text_room - to.text_bytes) {
      return frame.content_bytes == unknown_size ? verdict::no_room : verdict::content_size;
    }
    to.text_bytes += end.text_bytes;
    if (end.type != block_type::compressed) return verdict::decoded;
    for (unsigned k = 0; k < 3; ++k) {
      offsets.at[k] = encoded_offset::value(end.after.at[k], before);
      if (offsets.at[k] == 0) return verdict::match_offset;
    }
    return verdict::decoded;
  }
};

GPUHIST_HOST_DEVICE inline verdict link_blocks(const batch_buffers& batch, const encoded_frame& frame,
                                               decoded_frame& to) {
  frame_link link{batch, frame, to};
  for (std::uint32_t first = 0; first < frame.block_count; first += blocks_at_once) {
    block_end ends[blocks_at_once];
    GPUHIST_UNROLL
    for (std::uint32_t i = 0; i < blocks_at_once; ++i) {
      if (first + i >= frame.block_count) continue;
      const decoded_block& block = batch.decoded[frame.first_block + first + i];
      ends[i] = {block.is, batch.blocks[frame.first_block + first + i].type, block.text_bytes, block.after};
    }
    GPUHIST_UNROLL
    for (std::uint32_t i = 0; i < blocks_at_once; ++i) {
      if (first + i >= frame.block_count) continue;
      if (const verdict is = link.add(first + i, ends[i]); is != verdict::decoded) return is;
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
