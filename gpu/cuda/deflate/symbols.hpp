// The first phase of gzip members: a thread for each member decodes its symbols to what the phases of zstd make of a
// frame, literals and sequences, so that the phases after it serve both formats.
//
//     deflate    | block ............................... | block ... | trailer      any number of bytes of text
//     blocks     | 128 KiB of text | 128 KiB of text | ....... |                    of the batch
#pragma once

#include "gpu/cuda/deflate/bits.hpp"
#include "gpu/cuda/deflate/codes.hpp"
#include "gpu/cuda/zstd/encoded.hpp"
#include "gpu/cuda/zstd/execute.hpp"

#include <cstdint>

namespace gpuhist::gpu::cuda::deflate {

inline constexpr std::uint32_t window_bytes = 32768;
inline constexpr std::uint32_t longest_match = 258;
inline constexpr std::uint32_t block_text = zstd::max_block_bytes - longest_match;

/// The blocks of the batch that a member of this much text needs.
constexpr std::uint32_t blocks_for(std::uint64_t text_bytes) {
  return static_cast<std::uint32_t>(text_bytes / block_text + 1);
}

/// The entries of sequences that it needs. Members with more sequences, shorter ones, are rejected.
constexpr std::uint32_t entries_for(std::uint64_t text_bytes) {
  constexpr std::uint32_t text_of_sequence = 4;
  return static_cast<std::uint32_t>(text_bytes / text_of_sequence) + 2 * blocks_for(text_bytes);
}

/// `blocks`: of the batch.
GPUHIST_HOST_DEVICE inline bool is_member(const zstd::encoded_block* blocks, const zstd::encoded_frame& frame) {
  return frame.block_count > 0 && blocks[frame.first_block].type == zstd::block_type::member;
}

/// Decodes one member.
class member_decoder {
 public:
  /// Borrows everything.
  GPUHIST_HOST_DEVICE member_decoder(const zstd::batch_buffers& batch, std::uint32_t index,
                                     const symbol_meanings& meanings, stream_memory& tables)
      : batch_(batch),
        frame_(batch.frames[index]),
        meanings_(meanings),
        tables_(tables),
        bits_(batch.compressed, batch.blocks[frame_.first_block].at,
              batch.blocks[frame_.first_block].at + batch.blocks[frame_.first_block].bytes),
        room_(static_cast<std::uint32_t>(frame_.text_room)),
        limit_(zstd::lesser(room_, zstd::max_block_bytes)),
        end_entry_(frame_.entries_at + entries_for(frame_.text_room)),
        block_(frame_.first_block),
        entry_(frame_.entries_at),
        first_entry_(entry_),
        literals_(batch.literals + frame_.literals_at) {}

  /// Fills batch.decoded for all blocks of the member. The first one has the verdict.
  GPUHIST_HOST_DEVICE void decode() {
    zstd::verdict is = fits() ? zstd::verdict::decoded : zstd::verdict::no_room;
    for (bool is_last = false; !is_last && is == zstd::verdict::decoded;) {
      is_last = bits_.read(1) != 0;
      const std::uint32_t type = bits_.read(2);
      if (type == 0) is = take_stored();
      if (type == 1 || type == 2) is = take_coded(type == 1);
      if (type == 3) is = zstd::verdict::literals_header;
      if (bits_.ran_past_end()) is = zstd::verdict::huffman_stream;
    }
    if (is == zstd::verdict::decoded && !bits_.is_at_end()) is = zstd::verdict::sequences_stream;
    if (is == zstd::verdict::decoded && !end_block()) is = zstd::verdict::no_room;
    for (std::uint32_t i = block_; i < end_of_blocks(); ++i) batch_.decoded[i] = empty_block();
    if (is != zstd::verdict::decoded) batch_.decoded[frame_.first_block].is = is;
  }

 private:
  [[nodiscard]] GPUHIST_HOST_DEVICE std::uint32_t end_of_blocks() const {
    return frame_.first_block + frame_.block_count;
  }

  [[nodiscard]] GPUHIST_HOST_DEVICE bool fits() const {
    return batch_.blocks[frame_.first_block].bytes <= forward_bits::max_bytes &&
           frame_.literals_at + frame_.text_room <= batch_.literal_room && end_entry_ <= batch_.sequence_room;
  }

  // It leaves the repeated offsets, which deflate does not have, as they are.
  [[nodiscard]] GPUHIST_HOST_DEVICE static zstd::decoded_block empty_block() {
    zstd::decoded_block block{};
    block.literals = zstd::literals_type::huffman;
    for (std::uint32_t i = 0; i < 3; ++i) block.after.at[i] = zstd::encoded_offset::inherited(i);
    return block;
  }

  GPUHIST_HOST_DEVICE zstd::verdict take_stored() {
    bits_.align_to_byte();
    const std::uint32_t bytes = bits_.read(16);
    if ((bits_.read(16) ^ bytes) != 0xffffU) return zstd::verdict::literals_header;
    for (std::uint32_t i = 0; i < bytes; ++i) {
      if (text_ >= limit_) {
        const zstd::verdict is = make_room(1);
        if (is != zstd::verdict::decoded) return is;
      }
      put_literal(bits_.read(8));
    }
    return zstd::verdict::decoded;
  }

  GPUHIST_HOST_DEVICE zstd::verdict take_coded(bool is_fixed) {
    code_lengths lengths{};
    if (is_fixed) {
      set_fixed_lengths(lengths);
    } else if (!read_lengths(bits_, tables_, lengths)) {
      return zstd::verdict::huffman_tree;
    }
    if (!tables_.literals.build(lengths.at, lengths.literals, incomplete_code::rejected) ||
        !tables_.distances.build(lengths.at + lengths.literals, lengths.distances, incomplete_code::at_most_one_bit)) {
      return zstd::verdict::huffman_tree;
    }
    return take_symbols();
  }

  // The loop that everything else waits for: few instructions matter more than anything (docs/tuning.md).
  GPUHIST_HOST_DEVICE zstd::verdict take_symbols() {
    for (;;) {
      std::uint32_t ahead = bits_.peek();
      const coded_symbol found = tables_.literals.find(ahead);
      bits_.skip(found.bits);
      if (found.symbol < end_of_block) {
        if (text_ >= limit_) {
          const zstd::verdict is = make_room(1);
          if (is != zstd::verdict::decoded) return is;
        }
        put_literal(found.symbol);
        continue;
      }
      if (found.symbol == end_of_block) return zstd::verdict::decoded;
      if (found.symbol > symbol_meanings::last_length) return zstd::verdict::huffman_stream;
      const std::uint32_t meaning = meanings_.lengths[found.symbol - symbol_meanings::first_length];
      const std::uint32_t length = value_of(meaning, ahead >> found.bits);
      bits_.skip(meaning >> 16U);

      ahead = bits_.peek();
      const coded_symbol far = tables_.distances.find(ahead);
      if (far.symbol >= symbol_meanings::distance_count) return zstd::verdict::sequences_stream;
      const std::uint32_t place = meanings_.distances[far.symbol];
      bits_.skip(far.bits + (place >> 16U));
      if (text_ + length > limit_ || entry_ + 3 > end_entry_) {
        const zstd::verdict is = entry_ + 3 > end_entry_ ? zstd::verdict::no_room : make_room(length);
        if (is != zstd::verdict::decoded) return is;
      }
      batch_.sequences[entry_++] =
          zstd::sequence_entry::make(begin_text_, begin_literal_, value_of(place, ahead >> far.bits));
      text_ += length;
      begin_text_ = text_;
      begin_literal_ = literal_;
    }
  }

  /// The base and the extra bits, which are the lowest of `ahead`.
  [[nodiscard]] GPUHIST_HOST_DEVICE static std::uint32_t value_of(std::uint32_t meaning, std::uint32_t ahead) {
    return (meaning & 0xffffU) + (ahead & ((std::uint32_t{1} << (meaning >> 16U)) - 1));
  }

  GPUHIST_HOST_DEVICE void put_literal(std::uint32_t byte) {
    literals_[literal_++] = static_cast<std::uint8_t>(byte);
    ++text_;
  }

  /// Begins the next block, so that there is room for so many bytes of text.
  GPUHIST_HOST_DEVICE zstd::verdict make_room(std::uint32_t bytes) {
    if (bits_.ran_past_end()) return zstd::verdict::huffman_stream;
    if (bytes > room_ - text_) return zstd::verdict::content_size;
    if (!end_block()) return zstd::verdict::no_room;
    room_ -= text_;
    limit_ = zstd::lesser(room_, zstd::max_block_bytes);
    literals_ += literal_;
    first_entry_ = entry_;
    text_ = literal_ = begin_text_ = begin_literal_ = 0;
    return entry_ + 3 > end_entry_ ? zstd::verdict::no_room : zstd::verdict::decoded;
  }

  /// False: there is no room for its entries.
  GPUHIST_HOST_DEVICE bool end_block() {
    if (entry_ + 2 > end_entry_ || block_ == end_of_blocks()) return false;
    batch_.sequences[entry_] = zstd::sequence_entry::make(begin_text_, begin_literal_, 0);
    batch_.sequences[entry_ + 1] = zstd::sequence_entry::make(text_, literal_, 0);
    zstd::decoded_block block = empty_block();
    block.literals_at = static_cast<std::uint32_t>(literals_ - batch_.literals);
    block.literal_bytes = literal_;
    block.sequences_at = first_entry_;
    block.sequence_count = entry_ - first_entry_;
    block.text_bytes = text_;
    batch_.decoded[block_++] = block;
    entry_ += 2;
    return true;
  }

  const zstd::batch_buffers& batch_;
  const zstd::encoded_frame& frame_;
  const symbol_meanings& meanings_;
  stream_memory& tables_;
  forward_bits bits_;
  std::uint32_t room_;   // for text from the begin of the block on
  std::uint32_t limit_;  // of the text of the block
  const std::uint32_t end_entry_;
  std::uint32_t block_;
  std::uint32_t entry_;
  std::uint32_t first_entry_;        // of the block
  std::uint8_t* literals_;           // of the block
  std::uint32_t text_ = 0;           // of the block
  std::uint32_t literal_ = 0;        // of the block
  std::uint32_t begin_text_ = 0;     // of the sequence
  std::uint32_t begin_literal_ = 0;  // of the sequence
};

}  // namespace gpuhist::gpu::cuda::deflate
