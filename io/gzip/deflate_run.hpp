// Decodes consecutive blocks of gzip members up to a position: the text, and where it begins and ends in the data.
#pragma once

#include "io/gzip/deflate_blocks.hpp"
#include "io/gzip/deflate_text.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace gpuhist::io {

/// Consecutive blocks of one member. Positions are bits from the start of the compressed input.
struct deflate_stretch {
  std::uint64_t first_begin = 0;  ///< it begins at any bit from here (see block_guess::first_bit)
  std::uint64_t begin = 0;        ///< to here
  std::uint64_t end = 0;
  bool ends_member = false;  ///< the last block of the member is in it; the trailer begins at the next whole byte
  std::size_t text_bytes = 0;
  std::size_t text_begin = 0;  ///< in the text of the part; see deflate_part::finish()
  std::uint32_t crc = 0;       ///< of the text; see deflate_part::finish()
};

/// Data and where its first bit is in the compressed input.
struct deflate_data {
  std::span<const std::byte> bytes;  ///< with deflate_bits::padding after it
  std::uint64_t offset = 0;          ///< of its first byte, in the compressed input
};

enum class run_end {
  reached,     ///< the next block, or the rest of the member after its last block, begins at or after the position
  incomplete,  ///< the data ends within a block or header
  damaged,     ///< what follows is neither a block nor a member nor padding
  full         ///< the memory for the text is used up
};

/// A text under construction, and its stretches. A run continues where the one before it ended.
class deflate_run {
 public:
  /// Memory as for deflate_text.
  deflate_run(std::size_t max_bytes, std::shared_ptr<part_memory> pool) : text_(max_bytes, std::move(pool)) {}

  /// Begins within a member, with this window, or an unknown one. False if there is no memory.
  bool begin_at_block(std::uint64_t first_begin, std::uint64_t begin, std::optional<std::span<const std::byte>> window);

  /// Begins at the header of a member.
  void begin_at_header(std::uint64_t begin) { position_ = begin; }

  /// Decodes all blocks that begin before `until` (a bit of the compressed input). Blocks with an error are left out.
  run_end decode(deflate_blocks& blocks, const deflate_data& data, std::uint64_t until);

  [[nodiscard]] std::uint64_t position() const { return position_; }
  [[nodiscard]] bool is_in_member() const { return in_member_; }
  [[nodiscard]] deflate_text& text() { return text_; }
  [[nodiscard]] const deflate_text& text() const { return text_; }
  [[nodiscard]] std::vector<deflate_stretch>& stretches() { return stretches_; }
  [[nodiscard]] const std::vector<deflate_stretch>& stretches() const { return stretches_; }

 private:
  std::optional<run_end> read_block(deflate_blocks& blocks, deflate_bits& bits);
  std::optional<run_end> read_between(const deflate_data& data, std::uint64_t until);

  deflate_text text_;
  std::vector<deflate_stretch> stretches_;
  std::uint64_t position_ = 0;
  bool in_member_ = false;      // at the begin of a block
  bool after_member_ = false;   // otherwise: at the begin of a trailer, not of a header
  bool opens_stretch_ = false;  // the next block begins a stretch
  std::uint64_t first_begin_ = 0;
};

}  // namespace gpuhist::io
