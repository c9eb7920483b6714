// Phase 5: a team for each frame places the text of its blocks, and finds the repeated offsets at the begin of each.
// Each thread has one of several blocks that follow each other. What several blocks do to the repeated offsets has the
// same form as what one does, so the threads combine their blocks in a few steps.
#pragma once

#include "gpu/cuda/zstd/encoded.hpp"

#include <cstdint>

namespace gpuhist::gpu::cuda::zstd {

/// How one block ends, or several that follow each other.
struct block_end {
  std::uint32_t text_bytes = 0;
  repeated_offsets after = unchanged();  ///< as encoded_offset, of their begin

  GPUHIST_HOST_DEVICE static repeated_offsets unchanged() {
    return {{encoded_offset::inherited(0), encoded_offset::inherited(1), encoded_offset::inherited(2)}};
  }

  /// A block that is not rejected.
  GPUHIST_HOST_DEVICE static block_end of(const batch_buffers& batch, std::uint32_t index) {
    const decoded_block& block = batch.decoded[index];
    const block_type type = batch.blocks[index].type;
    const bool has_offsets = type == block_type::compressed || type == block_type::carried;
    return {block.text_bytes, has_offsets ? block.after : unchanged()};
  }

  /// Adds the blocks before them, which the thread of a lower rank has.
  template <class Team>
  GPUHIST_HOST_DEVICE void add_lower(const Team& team, unsigned distance) {
    const block_end lower = of_lower(team, distance);
    if (team.rank() < distance) return;
    text_bytes += lower.text_bytes;
    for (std::uint32_t& each : after.at) each = encoded_offset::combined(each, lower.after);
  }

  template <class Team>
  GPUHIST_HOST_DEVICE block_end of_lower(const Team& team, unsigned distance) const {
    block_end lower;
    lower.text_bytes = team.from_lower(text_bytes, distance);
    for (unsigned k = 0; k < 3; ++k) lower.after.at[k] = team.from_lower(after.at[k], distance);
    return lower;
  }
};

/// Adds the blocks of a frame to `to`. All threads of the team call it.
template <class Team>
GPUHIST_HOST_DEVICE verdict link_blocks(const Team& team, const batch_buffers& batch, const encoded_frame& frame,
                                        decoded_frame& to) {
  repeated_offsets offsets{{1, 4, 8}};  // RFC 8878, 3.1.1.5
  for (std::uint32_t first = 0; first < frame.block_count; first += Team::size) {
    const std::uint32_t own = frame.first_block + first + team.rank();
    const bool has_block = first + team.rank() < frame.block_count;
    verdict is = has_block ? batch.decoded[own].is : verdict::decoded;
    const block_end end = has_block && is == verdict::decoded ? block_end::of(batch, own) : block_end();
    block_end all = end;
    for (unsigned distance = 1; distance < Team::size; distance *= 2) all.add_lower(team, distance);
    block_end lower = all.of_lower(team, 1);
    if (team.rank() == 0) lower = {};
    const std::uint64_t begin = to.text_bytes + lower.text_bytes;
    const repeated_offsets before = encoded_offset::values(lower.after, offsets);
    const repeated_offsets after = encoded_offset::values(end.after, before);
    if (has_block && is == verdict::decoded) {
      batch.decoded[own].frame_offset = begin;
      batch.decoded[own].before = before;
      if (after.at[0] == 0 || after.at[1] == 0 || after.at[2] == 0) is = verdict::match_offset;
      if (begin + end.text_bytes > frame.text_room) {
        is = frame.content_bytes == unknown_size ? verdict::no_room : verdict::content_size;
      }
    }
    const unsigned rejected = team.first(is != verdict::decoded);
    if (rejected < Team::size) {
      to.block = first + rejected;
      return static_cast<verdict>(team.value_of(static_cast<std::uint32_t>(is), rejected));
    }
    to.text_bytes += team.value_of(all.text_bytes, Team::size - 1);
    for (unsigned k = 0; k < 3; ++k) offsets.at[k] = team.value_of(after.at[k], Team::size - 1);
  }
  const bool fits = frame.content_bytes == unknown_size || frame.content_bytes == to.text_bytes;
  return fits ? verdict::decoded : verdict::content_size;
}

/// Phase 5 for frame `index`: writes batch.results[index].
template <class Team>
GPUHIST_HOST_DEVICE void link_frame(const Team& team, const batch_buffers& batch, std::uint32_t index) {
  decoded_frame result{};
  const encoded_frame& frame = batch.frames[index];
  if (frame.block_count > 0 && batch.blocks[frame.first_block].type == block_type::carried) {
    result.carried = batch.decoded[frame.first_block].text_bytes;
  }
  result.is = link_blocks(team, batch, frame, result);
  if (team.rank() == 0) batch.results[index] = result;
}

}  // namespace gpuhist::gpu::cuda::zstd
