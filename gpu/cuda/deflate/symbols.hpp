// The second phase of gzip members: a team for each portion decodes its symbols to what the phases of zstd make of a
// frame, literals and sequences, so that the phases after it serve both formats.
//
//     deflate    | block ............................... | block ... |     any number of bytes of text
//     pieces     | at most 128 KiB of text | ......... | ........... |     blocks of the batch
#pragma once

#include "gpu/cuda/deflate/bits.hpp"
#include "gpu/cuda/deflate/codes.hpp"
#include "gpu/cuda/deflate/portions.hpp"
#include "gpu/cuda/deflate/stretches.hpp"
#include "gpu/cuda/zstd/descriptions.hpp"
#include "gpu/cuda/zstd/encoded.hpp"
#include "gpu/cuda/zstd/execute.hpp"

#include <cstdint>

namespace gpuhist::gpu::cuda::deflate {

/// Memory of a team that decodes a portion.
struct portion_memory {
  block_code_tables codes;
  stretch_memory stretches;
};

/// Decodes one portion of a member.
template <class Team>
class portion_decoder {
 public:
  /// Of block `index` of the batch, which has_begin(). Borrows everything.
  GPUHIST_HOST_DEVICE portion_decoder(const Team& team, const zstd::batch_buffers& batch, std::uint32_t index,
                                      const symbol_meanings& meanings, portion_memory& memory)
      : team_(team),
        batch_(batch),
        frame_(batch.frames[batch.blocks[index].frame]),
        meanings_(meanings),
        memory_(memory),
        index_(index),
        first_(first_portion(batch.blocks, frame_)),
        next_(index - first_ + 1),
        has_ended_(batch.portions[index].has_ended != 0),
        bits_(batch.compressed, begin(), end()) {}

  /// Fills its place in batch.portions, and those of its pieces. All threads of the team call it.
  GPUHIST_HOST_DEVICE void decode() {
    zstd::verdict is = fits() ? zstd::verdict::decoded : zstd::verdict::no_room;
    if (is == zstd::verdict::decoded) is = has_ended_ || has_reached_end() ? take_nothing() : take_blocks();
    if (team_.rank() != 0) return;
    portion_block& to = batch_.portions[index_];
    to.is = is;
    to.end = has_ended_ ? (position() + 7) / 8 * 8 : position();
    to.has_ended = has_ended_ ? 1 : 0;
    if (is == zstd::verdict::decoded) to.next = next_;
    to.first_piece = first_piece_;
    to.pieces = pieces_;
  }

 private:
  [[nodiscard]] GPUHIST_HOST_DEVICE std::uint64_t begin() const { return batch_.portions[index_].begin; }
  [[nodiscard]] GPUHIST_HOST_DEVICE std::uint64_t stream_end() const {
    return end_of_stream(batch_.blocks[index_], frame_);
  }
  [[nodiscard]] GPUHIST_HOST_DEVICE std::uint64_t step_end() const { return stream_end() - frame_.bytes_after; }
  /// Of the bits that may be read.
  [[nodiscard]] GPUHIST_HOST_DEVICE std::uint64_t end() const {
    const std::uint64_t most = begin() / 8 + most_bytes_of_portion;
    return most < stream_end() ? most : stream_end();
  }
  [[nodiscard]] GPUHIST_HOST_DEVICE std::uint64_t position() const { return begin() / 32 * 32 + bits_.place(); }
  /// What all portions take from.
  [[nodiscard]] GPUHIST_HOST_DEVICE portion_block& pool() const { return batch_.portions[first_]; }

  [[nodiscard]] GPUHIST_HOST_DEVICE bool fits() const {
    return frame_.literal_room <= batch_.literal_room &&
           frame_.literals_at <= batch_.literal_room - frame_.literal_room &&
           frame_.entry_room <= batch_.sequence_room && frame_.entries_at <= batch_.sequence_room - frame_.entry_room;
  }

  /// Whether the step ends here, so that the next one continues. The step with the end of the stream ends there.
  [[nodiscard]] GPUHIST_HOST_DEVICE bool has_reached_end() const {
    return frame_.is_continued != 0 && position() >= 8 * step_end();
  }

  /// Whether a later portion begins here, or the next step.
  [[nodiscard]] GPUHIST_HOST_DEVICE bool is_at_next() {
    if (has_reached_end()) {
      next_ = frame_.portions;
      return true;
    }
    const portion_block* const portions = &pool();
    for (; next_ < frame_.portions; ++next_) {
      const std::uint64_t begin = portions[next_].begin;
      if (begin != portion_block::no_begin && begin >= position()) return begin == position();
    }
    return false;
  }

  GPUHIST_HOST_DEVICE zstd::verdict take_blocks() {
    zstd::verdict is = begin_piece({});
    while (is == zstd::verdict::decoded) {
      has_ended_ = bits_.read(1) != 0;
      const std::uint32_t type = bits_.read(2);
      if (type == 0) is = take_stored();
      if (type == 1 || type == 2) is = take_coded(type == 1);
      if (type == 3) is = zstd::verdict::literals_header;
      if (bits_.ran_past_end()) is = zstd::verdict::huffman_stream;
      if (is == zstd::verdict::decoded && has_ended_) is = take_nothing();
      if (has_ended_ || is_at_next()) break;
    }
    return is != zstd::verdict::decoded || end_piece() ? is : zstd::verdict::no_room;
  }

  /// The stream has ended, or the step. The stream ends with the bytes of the last step.
  GPUHIST_HOST_DEVICE zstd::verdict take_nothing() {
    next_ = frame_.portions;
    const std::uint64_t place = (position() + 7) / 8;
    const bool is_whole = frame_.is_continued != 0 ? place >= step_end() : place == stream_end();
    return is_whole ? zstd::verdict::decoded : zstd::verdict::sequences_stream;
  }

  GPUHIST_HOST_DEVICE zstd::verdict take_stored() {
    bits_.align_to_byte();
    std::uint32_t bytes = bits_.read(16);
    if ((bits_.read(16) ^ bytes) != 0xffffU) return zstd::verdict::literals_header;
    if (8 * bytes > bits_.left()) return zstd::verdict::huffman_stream;
    while (bytes > 0) {
      const std::uint32_t room = zstd::lesser(literal_room_ - literal_, zstd::max_block_bytes - text_bytes());
      if (room == 0) {
        const zstd::verdict is = next_piece({.literals = 1});
        if (is != zstd::verdict::decoded) return is;
        continue;
      }
      const std::uint32_t taken = zstd::lesser(bytes, room);
      for (std::uint32_t i = team_.rank(); i < taken; i += Team::size) {
        forward_bits own = bits_;
        own.skip(8 * i);
        literals_[literal_ + i] = static_cast<std::uint8_t>(own.read(8));
      }
      literal_ += taken;
      bytes -= taken;
      bits_.skip(8 * taken);
    }
    return zstd::verdict::decoded;
  }

  GPUHIST_HOST_DEVICE zstd::verdict take_coded(bool is_fixed) {
    const bool is_valid =
        is_fixed ? has_fixed_codes_ || set_fixed_codes(team_, memory_.codes) : read_codes(team_, bits_, memory_.codes);
    has_fixed_codes_ = is_fixed;
    return is_valid ? take_symbols() : zstd::verdict::huffman_tree;
  }

  /// Blocks are expected to be as long as the one before, or twice as long, so that short ones have short rounds.
  GPUHIST_HOST_DEVICE zstd::verdict take_symbols() {
    const std::uint32_t begin = bits_.place();
    for (;;) {
      if (bits_.ran_past_end()) return zstd::verdict::huffman_stream;
      const std::uint32_t expected = 2 * zstd::greater(bits_of_block_, bits_.place() - begin) + 64;
      const stretch_round<Team> round(team_, bits_, zstd::lesser(bits_.left(), expected), memory_.codes, meanings_,
                                      memory_.stretches);
      const unsigned count = round.count();
      for (unsigned first = 0; first < count;) {
        const unsigned placed = place(first, count);
        if (placed > first) {
          round.write(first, placed, batch_.sequences, literals_);
          first = placed;
        } else {
          const zstd::verdict is = next_piece(memory_.stretches.all[first].yields);
          if (is != zstd::verdict::decoded) return is;
        }
      }
      const stretch& last = memory_.stretches.all[count - 1];
      bits_.skip(last.end - bits_.place() % 32);
      if (last.is == stretch_end::block) bits_of_block_ = bits_.place() - begin;
      if (last.is == stretch_end::block) return zstd::verdict::decoded;
      if (last.is == stretch_end::invalid) return zstd::verdict::huffman_stream;
    }
  }

  /// Places what stretches from `first` on yield in the piece, as far as they fit. Returns the first that does not.
  GPUHIST_HOST_DEVICE unsigned place(unsigned first, unsigned count) {
    for (; first < count; ++first) {
      stretch& each = memory_.stretches.all[first];
      const stretch_yield yields = each.yields;
      const std::uint32_t text = text_bytes();
      if (text + yields.text > zstd::max_block_bytes || yields.literals > literal_room_ - literal_ ||
          yields.matches + 2 > end_entry_ - entry_) {
        break;
      }
      if (team_.rank() == first % Team::size) {
        each.to = {.entry = entry_, .literal = literal_, .begin_text = begin_text_, .begin_literal = begin_literal_};
      }
      entry_ += yields.matches;
      literal_ += yields.literals;
      if (yields.matches > 0) begin_text_ = text + yields.text - yields.last_literals;
      if (yields.matches > 0) begin_literal_ = literal_ - yields.last_literals;
    }
    return first;
  }

  /// Of the piece.
  [[nodiscard]] GPUHIST_HOST_DEVICE std::uint32_t text_bytes() const { return begin_text_ + literal_ - begin_literal_; }

  GPUHIST_HOST_DEVICE zstd::verdict next_piece(const stretch_yield& least) {
    if (!end_piece()) return zstd::verdict::no_room;
    literals_ += literal_;
    literal_room_ -= literal_;
    literal_ = begin_text_ = begin_literal_ = 0;
    return begin_piece(least);
  }

  /// With room for `least`.
  GPUHIST_HOST_DEVICE zstd::verdict begin_piece(const stretch_yield& least) {
    const bool is_only = frame_.portions == 1;
    const std::uint32_t entries = least.matches + 2;
    if ((literals_ == nullptr || literal_room_ < least.literals) && !take_literals(is_only)) {
      return zstd::verdict::no_room;
    }
    if (end_entry_ - entry_ < entries && !take_entries(is_only)) return zstd::verdict::no_room;
    first_entry_ = entry_;
    const bool has_room = literal_room_ >= least.literals && end_entry_ - entry_ >= entries;
    return has_room ? zstd::verdict::decoded : zstd::verdict::no_room;
  }

  /// All threads get the same place. False: there is no room.
  GPUHIST_HOST_DEVICE bool take(std::uint64_t& taken, std::uint32_t amount, std::uint32_t room, std::uint32_t& at) {
    std::uint32_t has_room = team_.rank() == 0 && zstd::take_room(&taken, amount, room, at) ? 1 : 0;
    has_room = team_.value_of(has_room, 0);
    at = team_.value_of(at, 0);
    return has_room != 0;
  }

  GPUHIST_HOST_DEVICE bool take_literals(bool is_only) {
    const std::uint32_t amount = is_only ? frame_.literal_room : member_room::literals_of_chunk;
    std::uint32_t at = 0;
    if (!take(pool().literals_taken, amount, frame_.literal_room, at)) return false;
    literals_ = batch_.literals + frame_.literals_at + at;
    literal_room_ = amount;
    return true;
  }

  GPUHIST_HOST_DEVICE bool take_entries(bool is_only) {
    const std::uint32_t amount = is_only ? frame_.entry_room : member_room::entries_of_chunk;
    std::uint32_t at = 0;
    if (!take(pool().entries_taken, amount, frame_.entry_room, at)) return false;
    entry_ = frame_.entries_at + at;
    end_entry_ = entry_ + amount;
    return true;
  }

  /// False: there is no room for one more, or for its entries.
  GPUHIST_HOST_DEVICE bool end_piece() {
    std::uint32_t number = 0;
    const std::uint32_t room = frame_.first_block + frame_.block_count - first_;
    if (!take(pool().pieces_taken, 1, room, number)) return false;
    const std::uint32_t piece = first_ + number;
    if (team_.rank() == 0) {
      batch_.sequences[entry_] = zstd::sequence_entry::make(begin_text_, begin_literal_, 0);
      batch_.sequences[entry_ + 1] = zstd::sequence_entry::make(text_bytes(), literal_, 0);
      batch_.portions[piece].next_piece = piece;
      zstd::decoded_block& to = batch_.portions[piece].piece;
      to = empty_block();
      to.literals_at = static_cast<std::uint32_t>(literals_ - batch_.literals);
      to.literal_bytes = literal_;
      to.sequences_at = first_entry_;
      to.sequence_count = entry_ - first_entry_;
      to.text_bytes = text_bytes();
      if (pieces_ > 0) batch_.portions[last_piece_].next_piece = piece;
    }
    if (pieces_ == 0) first_piece_ = piece;
    last_piece_ = piece;
    ++pieces_;
    entry_ += 2;
    return true;
  }

  const Team& team_;
  const zstd::batch_buffers& batch_;
  const zstd::encoded_frame& frame_;
  const symbol_meanings& meanings_;
  portion_memory& memory_;
  const std::uint32_t index_;
  const std::uint32_t first_;
  std::uint32_t next_;  // portion
  bool has_ended_;      // the stream, with the last block
  forward_bits bits_;
  bool has_fixed_codes_ = false;
  std::uint32_t bits_of_block_ = std::uint32_t{1} << 20U;  // the last one
  std::uint32_t entry_ = 0;
  std::uint32_t end_entry_ = 0;
  std::uint32_t first_entry_ = 0;     // of the piece
  std::uint8_t* literals_ = nullptr;  // of the piece
  std::uint32_t literal_room_ = 0;    // from there on
  std::uint32_t literal_ = 0;         // of the piece
  std::uint32_t begin_text_ = 0;      // of the sequence
  std::uint32_t begin_literal_ = 0;   // of the sequence
  std::uint32_t pieces_ = 0;
  std::uint32_t first_piece_ = 0;
  std::uint32_t last_piece_ = 0;
};

}  // namespace gpuhist::gpu::cuda::deflate
