// Phase 6 for few long frames, which would not keep a device busy. A frame is divided into parts of a few blocks. First
// the parts are executed at the same time, each without the text before it: its bytes become symbols. Then the parts
// are written in order, and each byte is known or copied from the text before its part, so that all threads of the
// device write one part. (Two passes with symbols for unknown bytes: Kerbiriou and Chikhi, "Parallel decompression of
// gzip-compressed files", 2019, for windows of 32 KiB.)
//
//     text      | part 0: a b c d ... | part 1             | part 2             |
//     symbols   | a b c d ...         | x -3 -2 -1 y -9 .. | -7 -7 z ...        |   negative: place before the part
//     written   | all threads         | then all threads   | then all threads   |
//
// Symbols need four times the memory of their text, so a long frame has several segments, one after the other.
#pragma once

#include "gpu/cuda/zstd/encoded.hpp"
#include "gpu/cuda/zstd/execute.hpp"
#include "gpu/cuda/zstd/part_segment.hpp"

#include <cstdint>

#if defined(__CUDACC__)
#include <cuda/atomic>
#endif

namespace gpuhist::gpu::cuda::zstd {

/// Four bytes of a tile: negative: a place before the part; below first_reference: the value; otherwise the index of an
/// earlier byte of the tile. As symbols, there are no references.
struct symbol_group {
  using element = std::int32_t;

  static constexpr unsigned size = part_segment::group_bytes;

  element at[size] = {};

  GPUHIST_HOST_DEVICE static symbol_group sequence(element first) { return {{first, first + 1, first + 2, first + 3}}; }
  GPUHIST_HOST_DEVICE static symbol_group references(std::uint32_t first) {
    return sequence(first_reference + static_cast<element>(first));
  }
  GPUHIST_HOST_DEVICE static symbol_group known(std::uint32_t values) {
    const auto value = [&](unsigned i) { return static_cast<element>(values >> (8 * i) & 0xffU); };
    return {{value(0), value(1), value(2), value(3)}};
  }

  /// Replaces the bytes from `first` on.
  GPUHIST_HOST_DEVICE void put(const symbol_group& from, std::uint32_t first) {
    for (unsigned k = 0; k < size; ++k) {  // all indices are constants, so the bytes remain in registers
      for (unsigned i = k; first == k && i < size; ++i) at[i] = from.at[i - k];
    }
  }

  GPUHIST_HOST_DEVICE void store(element* to) const {
#if defined(__CUDA_ARCH__)
    *reinterpret_cast<int4*>(to) = make_int4(at[0], at[1], at[2], at[3]);
#else
    for (unsigned i = 0; i < size; ++i) to[i] = at[i];
#endif
  }

  GPUHIST_HOST_DEVICE static symbol_group load(const element* from) {
#if defined(__CUDA_ARCH__)
    const int4 all = *reinterpret_cast<const int4*>(from);
    return {{all.x, all.y, all.z, all.w}};
#else
    return {{from[0], from[1], from[2], from[3]}};
#endif
  }

  /// Each reference replaced by its target.
  GPUHIST_HOST_DEVICE symbol_group followed(const element* tile) const {
    symbol_group next = *this;
    for (element& each : next.at) each = each < first_reference ? each : tile[each - first_reference];
    return next;
  }

  GPUHIST_HOST_DEVICE bool all_known() const {
    return at[0] < first_reference && at[1] < first_reference && at[2] < first_reference && at[3] < first_reference;
  }

 private:
  static constexpr element first_reference = 256;
};

/// Writes the symbols of a part.
struct symbol_output {
  using group = symbol_group;

  std::int32_t* to;
  std::int32_t place;  ///< of `to` in the part

  GPUHIST_HOST_DEVICE symbol_output after(std::uint32_t bytes) const {
    return {to + bytes, place + static_cast<std::int32_t>(bytes)};
  }

  GPUHIST_HOST_DEVICE std::uint32_t run_from(std::int32_t at) const {
    return static_cast<std::uint32_t>(place + at < 0 ? -(place + at) : -at);
  }
  GPUHIST_HOST_DEVICE symbol_group load(bool is_literal, const std::uint8_t* literals, std::int32_t at,
                                        std::uint32_t count) const {
    if (is_literal) return symbol_group::known(load_bytes(literals + at, count));
    if (place + at < 0) return symbol_group::sequence(place + at);
    symbol_group symbols;
    for (unsigned i = 0; i < symbol_group::size; ++i) symbols.at[i] = i < count ? to[at + static_cast<int>(i)] : 0;
    return symbols;
  }

  GPUHIST_HOST_DEVICE bool is_aligned() const { return reinterpret_cast<std::uintptr_t>(to) % sizeof(group) == 0; }
  GPUHIST_HOST_DEVICE void store(std::uint32_t at, const symbol_group& all) const { all.store(to + at); }
  GPUHIST_HOST_DEVICE void store_first(std::uint32_t at, const symbol_group& some, std::uint32_t count) const {
    for (unsigned i = 0; i < symbol_group::size; ++i) {
      if (i < count) to[at + i] = some.at[i];
    }
  }
  GPUHIST_HOST_DEVICE void store_byte(std::uint32_t at, std::uint8_t byte) const { to[at] = byte; }
};

/// One part. A byte and its symbol have the same place in a group, so that groups are aligned in both.
struct frame_part {
  std::uint32_t first_block;
  std::uint32_t end_block;
  std::uint64_t begin;  ///< of its text in the frame
  std::uint8_t* text;   ///< its first byte
  std::uint32_t bytes;
  std::int32_t* symbols;  ///< of its first byte

  GPUHIST_HOST_DEVICE static frame_part of(const batch_buffers& batch, const part_segment& segment,
                                           std::uint32_t index) {
    frame_part part{};
    part.first_block = segment.first_block + index * part_segment::blocks_of_part;
    part.end_block = lesser(part.first_block + part_segment::blocks_of_part, segment.end_block);
    const decoded_block& last = batch.decoded[part.end_block - 1];
    part.begin = batch.decoded[part.first_block].frame_offset;
    part.text = batch.text + batch.frames[segment.frame].text_at + part.begin;
    part.bytes = static_cast<std::uint32_t>(last.frame_offset + last.text_bytes - part.begin);
    const std::size_t place = std::size_t{segment.first_part} + index;
    part.symbols = batch.symbols + place * part_segment::symbols_of_part + part.skipped();
    return part;
  }

  /// Bytes before it in its first group.
  GPUHIST_HOST_DEVICE std::uint32_t skipped() const {
    return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(text) % symbol_group::size);
  }
};

/// The symbols of part `index`, if the frame is not rejected. All threads of the team call it.
template <class Team, class Memory>
GPUHIST_HOST_DEVICE void execute_part(const Team& team, const batch_buffers& batch, const part_segment& segment,
                                      std::uint32_t index, Memory& memory) {
  if (index == 0 && team.rank() == 0) batch.progress->of[segment.counters] = {};
  decoded_frame& result = batch.results[segment.frame];
  if (team.any(result.is != verdict::decoded)) return;  // another part may reject it now
  const frame_part part = frame_part::of(batch, segment, index);
  tile_executor<Team, Memory> executor(team, memory);
  for (std::uint32_t i = part.first_block; i < part.end_block; ++i) {
    const auto at = static_cast<std::uint32_t>(batch.decoded[i].frame_offset - part.begin);
    if (execute_block(team, batch, i, executor, symbol_output{part.symbols, 0}.after(at))) continue;
    if (team.rank() == 0) result.is = verdict::match_offset;
    return;
  }
}

/// The text of four symbols.
GPUHIST_HOST_DEVICE inline std::uint32_t text_of(const symbol_group& symbols, const std::uint8_t* part) {
  const std::int32_t first = symbols.at[0];
  const std::int32_t last = symbols.at[3];
  if (last < 0 && symbols.at[1] == first + 1 && symbols.at[2] == first + 2 && last == first + 3) {
    return load_bytes(part + first, symbol_group::size);
  }
  std::uint32_t text = 0;
  for (unsigned i = 0; i < symbol_group::size; ++i) {
    const std::int32_t symbol = symbols.at[i];
    text |= static_cast<std::uint32_t>(symbol < 0 ? part[symbol] : symbol) << (8 * i);
  }
  return text;
}

/// A piece of the text of a part.
template <class Team>
class part_piece {
 public:
  /// Loads its symbols.
  GPUHIST_HOST_DEVICE part_piece(const Team& team, const frame_part& part, unsigned piece)
      : part_(part),
        end_(part.skipped() + part.bytes),
        first_((piece * Team::size + team.rank()) * symbol_group::size) {
    for (unsigned i = 0; i < max_groups; ++i) {
      if (begin_of(i) < end_) groups_[i] = symbols_at(begin_of(i));
    }
  }

  /// The text before the part is written.
  GPUHIST_HOST_DEVICE void write() const {
    for (unsigned i = 0; i < max_groups; ++i) {
      if (begin_of(i) < end_) write(begin_of(i), groups_[i]);
    }
  }

 private:
  static constexpr std::uint32_t bytes_of_row = symbol_group::size * Team::size * part_segment::pieces_of_part;
  static constexpr unsigned max_groups = (part_segment::symbols_of_part + bytes_of_row - 1) / bytes_of_row;

  GPUHIST_HOST_DEVICE std::uint32_t begin_of(unsigned group) const { return first_ + group * bytes_of_row; }

  GPUHIST_HOST_DEVICE bool has(std::uint32_t place) const { return place >= part_.skipped() && place < end_; }
  GPUHIST_HOST_DEVICE bool is_whole(std::uint32_t begin) const {
    return has(begin) && has(begin + symbol_group::size - 1);
  }

  // Bytes before and after the text of the part have no symbols: zero.
  GPUHIST_HOST_DEVICE symbol_group symbols_at(std::uint32_t begin) const {
    const symbol_group::element* const from = part_.symbols - part_.skipped() + begin;
    if (is_whole(begin)) return symbol_group::load(from);
    symbol_group some;
    for (unsigned i = 0; i < symbol_group::size; ++i) {
      if (has(begin + i)) some.at[i] = from[i];
    }
    return some;
  }

  GPUHIST_HOST_DEVICE void write(std::uint32_t begin, const symbol_group& symbols) const {
    const std::uint32_t text = text_of(symbols, part_.text);
    std::uint8_t* const group = part_.text - part_.skipped() + begin;
    if (is_whole(begin)) return store_word(group, text);
    for (unsigned i = 0; i < symbol_group::size; ++i) {
      if (has(begin + i)) group[i] = static_cast<std::uint8_t>(text >> (8 * i));
    }
  }

  const frame_part part_;
  const std::uint32_t end_;    // of the text, counted as symbols are
  const std::uint32_t first_;  // group of the thread
  symbol_group groups_[max_groups];
};

/// Writes pieces of the text of a segment, whose parts are executed, until none is left, and publishes how much text is
/// written after each part. Teams take pieces in order, and each waits for the parts before its own, so the first piece
/// that is not ended never waits. All threads of the team call it.
template <class Team>
GPUHIST_HOST_DEVICE void write_pieces(const Team& team, const batch_buffers& batch, const part_segment& segment) {
  decoded_frame& result = batch.results[segment.frame];
  if (result.is != verdict::decoded) return;
  part_counters& counters = batch.progress->of[segment.counters];
  for (;;) {
    const std::uint32_t ticket = team.next(counters.begun);
    const std::uint32_t index = ticket / part_segment::pieces_of_part;
    if (index >= segment.parts()) return;
    const frame_part part = frame_part::of(batch, segment, index);
    if (part.begin == result.text_bytes) {  // nor has a later part text
      if (ticket == 0) team.publish(result.written, static_cast<std::uint32_t>(result.text_bytes));
      return;
    }
    const part_piece<Team> piece(team, part, ticket % part_segment::pieces_of_part);
    team.wait_for(counters.ended, index * part_segment::pieces_of_part);
    piece.write();
    const bool is_last = team.add_one(counters.ended) == part_segment::pieces_of_part * (index + 1);
    if (is_last) team.publish(result.written, static_cast<std::uint32_t>(part.begin + part.bytes));
  }
}

}  // namespace gpuhist::gpu::cuda::zstd
