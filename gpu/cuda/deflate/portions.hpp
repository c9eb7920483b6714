// Long members are divided into portions of their deflate stream, which teams decode at the same time. Nothing says
// where blocks begin, so each portion is searched for the first place at which one may begin (Knespel and Brunst,
// "Rapidgzip: Parallel Decompression and Seeking in Gzip Files Using Cache Prefetching", 2023). A team decodes from
// there until a block ends where a later portion begins:
//
//     stream     | portion 0        | portion 1        | portion 2        | portion 3        |
//     blocks     |..........|..........................|..................|...........|......|
//     decoded by | 0        | 1                        |                  | 2         | 3
//
// The first portion begins with the stream, and what it ends at has begun correctly, and so on. So no wrong begin is
// believed: the text of portions that none leads to is not used. What symbols yield is literals and sequences, which
// need no text before them. They fill pieces, whose order is found at the end: these are the blocks of the batch.
//
// The host looks for the begins of stored blocks, too (io/gzip/deflate_finder.hpp). Here a member with long runs of
// blocks without codes of their own is left to it.
#pragma once

#include "gpu/cuda/zstd/encoded.hpp"
#include "gpu/cuda/zstd/execute.hpp"
#include "gpu/cuda/zstd/steps.hpp"

#include <cstdint>
#include <span>

namespace gpuhist::gpu::cuda::deflate {

inline constexpr std::uint32_t window_bytes = 32768;

/// A team decodes no more of a stream than this, so that no input takes it long: the host decodes the member.
inline constexpr std::uint32_t most_bytes_of_portion = std::uint32_t{1} << 20U;

/// What a member needs of a batch.
struct member_room {
  std::uint32_t portions = 1;
  std::uint32_t blocks = 0;    ///< of the batch
  std::uint64_t entries = 0;   ///< of sequences; a member with more, shorter ones is rejected
  std::uint64_t literals = 0;  ///< bytes

  static constexpr std::uint32_t least_text_of_portion = std::uint32_t{320} << 10U;
  static constexpr std::uint32_t least_bytes_of_portion = std::uint32_t{32} << 10U;

  /// Portions take literals and entries in chunks; the last ones are not full. (The only portion has all.)
  static constexpr std::uint32_t literals_of_chunk = std::uint32_t{64} << 10U;
  static constexpr std::uint32_t entries_of_chunk = std::uint32_t{16} << 10U;
  static constexpr std::uint32_t literal_alignment = 16;  ///< of the literals of a member

  static constexpr std::uint32_t portions_of(std::uint64_t stream_bytes, std::uint64_t text_bytes) {
    const std::uint64_t by_text = text_bytes / least_text_of_portion;
    const std::uint64_t by_bytes = stream_bytes / least_bytes_of_portion;
    const std::uint64_t portions = by_text < by_bytes ? by_text : by_bytes;
    return portions < 1 ? 1 : static_cast<std::uint32_t>(portions);
  }

  static constexpr member_room of(std::uint32_t portions, std::uint64_t text_bytes) {
    constexpr std::uint32_t text_of_entry = 3;                         // the shortest match
    constexpr std::uint32_t text_of_piece = std::uint32_t{32} << 10U;  // on average, or more
    const bool has_one = portions == 1;
    member_room room{.portions = portions};
    // Two pieces that follow each other have more text than one may have: what did not fit in the first one begins
    // the other.
    const std::uint64_t pieces_of_one =
        text_bytes <= zstd::max_block_bytes ? 1 : 2 * text_bytes / zstd::max_block_bytes + 1;
    room.blocks = static_cast<std::uint32_t>(has_one ? pieces_of_one : text_bytes / text_of_piece + portions + 1);
    room.entries = text_bytes / text_of_entry + 2 * std::uint64_t{room.blocks};
    room.literals = text_bytes;
    if (!has_one) room.entries += std::uint64_t{portions} * entries_of_chunk;
    if (!has_one) room.literals += std::uint64_t{portions} * literals_of_chunk;
    return room;
  }
  static constexpr member_room of(const zstd::encoded_frame& member) { return of(member.portions, member.text_room); }

  /// At most, of members with so much text.
  static constexpr std::uint64_t most_literals(std::uint64_t text_bytes) {
    return text_bytes + text_bytes / (least_text_of_portion / literals_of_chunk);
  }
};

/// Places what a member needs in the buffers of a batch, after what is taken: bytes of literals, entries.
inline void place_member(zstd::encoded_frame& member, std::span<std::uint64_t, 2> taken) {
  constexpr std::uint64_t alignment = member_room::literal_alignment;
  const auto room = member_room::of(member);
  member.literals_at = static_cast<std::uint32_t>(taken[0]);
  member.literal_room = static_cast<std::uint32_t>(room.literals);
  member.entries_at = static_cast<std::uint32_t>(taken[1]);
  member.entry_room = static_cast<std::uint32_t>(room.entries);
  taken[0] += (room.literals + alignment - 1) / alignment * alignment;
  taken[1] += room.entries;
}

/// Work memory of the phases of members, one for each block of the batch. Its number says which portion of the member
/// it is, or which piece; the two have nothing to do with each other. That of a carried block (zstd/steps.hpp) has the
/// place where the step begins, as bits after the begin of its stream, and whether the stream has ended before it.
struct portion_block {
  static constexpr std::uint64_t no_begin = ~std::uint64_t{0};

  // of a portion
  std::uint64_t begin;  ///< a bit of `compressed`
  std::uint64_t end;    ///< where its last block ended, the same; after order_pieces() the first portion has the end
                        ///< of all, and the next value
  std::uint32_t has_ended;  ///< with its last block the stream has ended
  zstd::verdict is;
  std::uint32_t next;         ///< the portion where it ended; the number of portions: it ended with the stream
  std::uint32_t first_piece;  ///< its block
  std::uint32_t pieces;

  // of the first portion: what all of them have taken
  std::uint64_t pieces_taken;
  std::uint64_t literals_taken;
  std::uint64_t entries_taken;

  // of a piece
  zstd::decoded_block piece;
  std::uint32_t next_piece;
};

GPUHIST_HOST_DEVICE inline bool is_member(const zstd::encoded_frame& frame) { return frame.portions > 0; }

/// The block with the first portion of a member: blocks of the batch before it are carried.
GPUHIST_HOST_DEVICE inline std::uint32_t first_portion(const zstd::encoded_block* blocks,
                                                       const zstd::encoded_frame& member) {
  const bool is_carried = blocks[member.first_block].type == zstd::block_type::carried;
  return member.first_block + (is_carried ? 1 : 0);
}

/// The stream of portion `number` of a member, and of some after it: from `begin`, a bit, to `end`, a byte.
struct portion_place {
  std::uint64_t begin;
  std::uint64_t end;

  GPUHIST_HOST_DEVICE static portion_place of(const zstd::encoded_block& stream, std::uint32_t portions,
                                              std::uint32_t number, std::uint32_t count) {
    const std::uint32_t bytes = (stream.bytes + portions - 1) / portions;
    const std::uint64_t begin = std::uint64_t{bytes} * number;
    const std::uint64_t end = begin + std::uint64_t{bytes} * count;
    return {8 * (stream.at + begin), stream.at + (end < stream.bytes ? end : stream.bytes)};
  }
};

/// How many portions of a member are decoded as one: the search for begins takes time, and with so many teams the
/// device is busy.
GPUHIST_HOST_DEVICE inline std::uint32_t portions_at_once(const zstd::batch_buffers& batch,
                                                          const zstd::encoded_block& stream) {
  constexpr std::uint32_t teams = 2048;  // 16 of each multiprocessor; docs/tuning.md
  const std::uint32_t portions = batch.frames[stream.frame].portions;
  const std::uint64_t wanted = batch.portion_count / teams;
  const std::uint64_t most = std::uint64_t{most_bytes_of_portion} / 2 * portions / (stream.bytes + 1);
  const std::uint64_t all = wanted < most ? wanted : most;
  return all < 1 ? 1 : static_cast<std::uint32_t>(all);
}

/// What may be read of it, a byte.
GPUHIST_HOST_DEVICE inline std::uint64_t end_of_stream(const zstd::encoded_block& stream,
                                                       const zstd::encoded_frame& member) {
  return std::uint64_t{stream.at} + stream.bytes + member.bytes_after;
}

/// Whether block `index` has a portion. Its number is `index` less first_portion().
GPUHIST_HOST_DEVICE inline bool has_portion(const zstd::batch_buffers& batch, std::uint32_t index) {
  if (index >= batch.block_count || batch.blocks[index].type != zstd::block_type::member) return false;
  const zstd::encoded_frame& frame = batch.frames[batch.blocks[index].frame];
  return index - first_portion(batch.blocks, frame) < frame.portions;
}

/// After the first phase: whether the portion of block `index` is decoded. No portion leads to others.
GPUHIST_HOST_DEVICE inline bool has_begin(const zstd::batch_buffers& batch, std::uint32_t index) {
  return has_portion(batch, index) && batch.portions[index].begin != portion_block::no_begin;
}

/// After all phases of a step of a member: makes block 0 what the next step carries. All threads of the team call it.
template <class Team>
GPUHIST_HOST_DEVICE void carry_member(const Team& team, const zstd::batch_buffers& batch) {
  if (team.rank() != 0) return;
  const std::uint32_t first = first_portion(batch.blocks, batch.frames[0]);
  const zstd::encoded_block& stream = batch.blocks[first];
  const bool is_decoded = batch.results[0].is == zstd::verdict::decoded;
  const std::uint64_t end = batch.portions[first].end;
  batch.portions[0].begin = is_decoded ? end - 8 * (std::uint64_t{stream.at} + stream.bytes) : 0;
  batch.portions[0].has_ended = is_decoded ? batch.portions[first].has_ended : 0;
  batch.decoded[0] = zstd::carried_text(batch);
}

/// A block of the batch without text. It leaves the repeated offsets, which deflate does not have, as they are.
GPUHIST_HOST_DEVICE inline zstd::decoded_block empty_block() {
  zstd::decoded_block block{};
  block.literals = zstd::literals_type::huffman;
  for (std::uint32_t i = 0; i < 3; ++i) block.after.at[i] = zstd::encoded_offset::inherited(i);
  return block;
}

/// The third phase of members, after the symbols (symbols.hpp): fills batch.decoded for all blocks of frame `index`
/// that are not carried, in the order of the text. The first of them has the verdict. All threads of the team call it.
template <class Team>
GPUHIST_HOST_DEVICE void order_pieces(const Team& team, const zstd::batch_buffers& batch, std::uint32_t index) {
  const zstd::encoded_frame& frame = batch.frames[index];
  if (!is_member(frame)) return;
  const std::uint32_t first_block = first_portion(batch.blocks, frame);
  const std::uint32_t block_count = frame.first_block + frame.block_count - first_block;
  portion_block* const portions = batch.portions + first_block;
  zstd::decoded_block* const ordered = batch.decoded + first_block;
  zstd::verdict is = zstd::verdict::decoded;
  std::uint32_t placed = 0;
  std::uint32_t next = 0;  // the portion that continues the stream
  std::uint32_t last = 0;  // the one before it
  for (std::uint32_t first = 0; first < frame.portions && is == zstd::verdict::decoded; first += Team::size) {
    const std::uint32_t own = first + team.rank();
    const std::uint32_t own_next = own < frame.portions ? portions[own].next : 0;
    bool continues = false;
    while (next < frame.portions && next - first < Team::size) {
      continues = continues || next == own;
      last = next;
      next = team.value_of(own_next, next - first);
    }
    const zstd::verdict own_is = continues ? portions[own].is : zstd::verdict::decoded;
    const unsigned rejected = team.first(own_is != zstd::verdict::decoded);
    if (rejected < Team::size) {
      is = static_cast<zstd::verdict>(team.value_of(static_cast<std::uint32_t>(own_is), rejected));
      break;
    }
    const std::uint32_t pieces = continues ? portions[own].pieces : 0;
    std::uint32_t until_own = pieces;
    for (unsigned distance = 1; distance < Team::size; distance *= 2) {
      const std::uint32_t lower = team.from_lower(until_own, distance);
      if (team.rank() >= distance) until_own += lower;
    }
    std::uint32_t piece = continues ? portions[own].first_piece : 0;
    for (std::uint32_t to = placed + until_own - pieces; to < placed + until_own; ++to) {
      ordered[to] = batch.portions[piece].piece;
      piece = batch.portions[piece].next_piece;
    }
    placed += team.value_of(until_own, Team::size - 1);
  }
  if (is != zstd::verdict::decoded) placed = 0;
  team.sync();
  if (team.rank() == 0) {
    portions[0].end = portions[last].end;
    portions[0].has_ended = portions[last].has_ended;
  }
  for (std::uint32_t i = placed + team.rank(); i < block_count; i += Team::size) {
    ordered[i] = empty_block();
    if (i == 0) ordered[i].is = is;
  }
}

}  // namespace gpuhist::gpu::cuda::deflate
