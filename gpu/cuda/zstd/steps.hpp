// A frame that is decoded in steps, which are batches of some of its blocks. The first block of a later step is what
// the steps before it leave: text that matches may refer to, the tree and the codes that blocks may repeat, and the
// repeated offsets. The text of two steps that follow each other lies in different memory, so that the text of one can
// be hashed while the next is decoded.
//
//     step 0   blocks | 0 | 1 | 2 ... | n |       text | 0 | 1 | 2 ....... | n |
//     step 1          | carried | 1 | 2 ...            | end of step 0 | 1 | 2 ...
#pragma once

#include "gpu/cuda/zstd/descriptions.hpp"
#include "gpu/cuda/zstd/encoded.hpp"
#include "gpu/cuda/zstd/frames.hpp"

#include <cstddef>
#include <cstdint>

namespace gpuhist::gpu::cuda::zstd {

/// Where the text begins that a step carries, given all text of the step before it.
GPUHIST_HOST_DEVICE inline std::uint64_t carried_from(std::uint64_t text_bytes, std::uint64_t window_bytes) {
  const std::uint64_t kept = text_bytes < window_bytes ? text_bytes : window_bytes;
  return (text_bytes - kept) / carried_alignment * carried_alignment;
}

/// What is described of a code.
GPUHIST_HOST_DEVICE inline void copy_code(const code_description& from, code_description& to) {
  to.mode = from.mode;
  if (from.mode == code_mode::predefined) return;
  to.symbols = from.symbols;
  if (from.mode == code_mode::run) return;
  to.log = from.log;
  for (unsigned i = 0; i < from.symbols; ++i) to.counts[i] = from.counts[i];
}

/// After all phases of a step: block 0 of the next one. Its `frame_offset` is where the carried text begins, until it
/// is linked. All offsets are inherited.
GPUHIST_HOST_DEVICE inline decoded_block carried_text(const batch_buffers& batch) {
  const decoded_frame& result = batch.results[0];
  decoded_block carried{};
  carried.is = result.is;
  if (result.is == verdict::decoded) {
    carried.frame_offset = carried_from(result.text_bytes, batch.frames[0].window_bytes);
    carried.text_bytes = static_cast<std::uint32_t>(result.text_bytes - carried.frame_offset);
  }
  carried.after = block_end::unchanged();
  return carried;
}

/// Makes block 0 of a zstd frame what the next step carries. All threads of the team call it.
template <class Team>
GPUHIST_HOST_DEVICE void carry_blocks(const Team& team, const batch_buffers& batch) {
  const encoded_frame& frame = batch.frames[0];
  last_description<Team> tree;
  last_description<Team> codes[code_kinds];
  for (std::uint32_t first = 0; first < frame.block_count; first += Team::size) {
    const std::uint32_t own = first + team.rank();
    const block_uses uses = own < frame.block_count ? block_uses::of(batch, own) : block_uses();
    tree.next(team, own, uses.describes_tree);
    for (unsigned kind = 0; kind < code_kinds; ++kind) codes[kind].next(team, own, uses.describes_code[kind]);
  }
  if (team.rank() != 0) return;
  const std::uint32_t last = frame.block_count - 1;
  const block_end end = block_end::of(batch, last);
  const repeated_offsets after = encoded_offset::values(end.after, batch.decoded[last].before);
  decoded_block carried = carried_text(batch);
  for (unsigned k = 0; carried.is == verdict::decoded && k < 3; ++k) carried.after.at[k] = after.at[k] - 1;
  block_codes& to = batch.codes[0];
  const std::uint32_t tree_of = tree.of_all();
  if (tree_of == 0) {
    to.tree_log = 0;
  } else {
    const block_codes& from = batch.codes[tree_of - 1];
    to.weight_count = from.weight_count;
    to.tree_log = from.tree_log;
    for (unsigned i = 0; i < from.weight_count; ++i) to.weights[i] = from.weights[i];
  }
  for (unsigned kind = 0; kind < code_kinds; ++kind) {
    const std::uint32_t code_of = codes[kind].of_all();
    if (code_of == 0) {
      to.codes[kind].mode = code_mode::repeated;
    } else if (code_of > 1) {
      copy_code(batch.codes[code_of - 1].codes[kind], to.codes[kind]);
    }
  }
  batch.decoded[0] = carried;
}

/// Before the phases of a later step: copies the carried text, in pieces of carried_alignment bytes. `text_before`: the
/// text of the step before it. Copies every `count`-th piece from `index` on.
GPUHIST_HOST_DEVICE inline void copy_carried(const batch_buffers& batch, const std::uint8_t* text_before,
                                             std::uint32_t index, std::uint32_t count) {
  struct alignas(16) quad {
    std::uint64_t words[2];
  };
  const decoded_block& carried = batch.decoded[0];
  const auto* const from = reinterpret_cast<const quad*>(text_before + carried.frame_offset);
  auto* const to = reinterpret_cast<quad*>(batch.text);
  const std::size_t quads = (carried.text_bytes + sizeof(quad) - 1) / sizeof(quad);
  for (std::size_t i = index; i < quads; i += count) to[i] = from[i];
}

}  // namespace gpuhist::gpu::cuda::zstd
