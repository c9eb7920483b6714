// Reads one bzip2 block: header, codes and symbols, up to the transformed bytes (Burrows-Wheeler). Resumes after any
// byte of input.
#pragma once

#include "io/bzip2/bzip2_bits.hpp"
#include "io/bzip2/bzip2_codes.hpp"
#include "io/bzip2/bzip2_symbols.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace gpuhist::io {

inline constexpr std::size_t bzip2_level_bytes = 100'000;
inline constexpr std::size_t bzip2_largest_block = 9 * bzip2_level_bytes;

/// What a block consists of, besides its transformed bytes.
struct bzip2_block_header {
  std::uint32_t crc = 0;  ///< of its text
  bool randomised = false;
  std::uint32_t origin = 0;  ///< the row of the sorted rotations that is the block; below the size of a complete block
};

/// The magic numbers of 48 bits, before a block and before the combined CRC at the end of a stream.
inline constexpr std::uint64_t bzip2_block_magic = 0x314159265359;
inline constexpr std::uint64_t bzip2_end_magic = 0x177245385090;
inline constexpr unsigned bzip2_magic_bits = 48;

/// Reads blocks of one or several streams, one after the other.
class bzip2_block_reader {
 public:
  enum class state { needs_input, complete, damaged };

  /// Begins a block. `out`: room for `most` bytes (those of the level of the stream) and bzip2_symbols::slack more.
  void start(std::uint8_t* out, std::size_t most);

  /// Continues after the magic number of the block. Reads no bit after the block. After `damaged`, the bits up to the
  /// one that cannot be right are consumed.
  state read(bzip2_bits& bits);

  /// Of a complete block.
  [[nodiscard]] const bzip2_block_header& header() const { return header_; }
  [[nodiscard]] std::size_t size() const { return symbols_.size(); }

 private:
  enum class field { crc, randomised, origin, used_groups, used_bytes, codes, selectors, selector, lengths, symbols };

  static constexpr unsigned symbols_of_a_selector = 50;
  static constexpr unsigned most_codes = 6;
  static constexpr std::size_t most_selectors = 2 + bzip2_largest_block / symbols_of_a_selector;  // more are ignored

  /// Reads a field, or a part of it. Returns false if input is missing, or the block is damaged.
  bool read_field(bzip2_bits& bits);
  bool read_number(bzip2_bits& bits, unsigned width);
  bool read_used_bytes(bzip2_bits& bits);
  bool read_selector(bzip2_bits& bits);
  bool read_lengths(bzip2_bits& bits);
  bool next_length();
  bool read_symbols(bzip2_bits& bits);
  bool read_symbols_fast(bzip2_bits& bits);
  bool begin_selector();
  void begin_symbols();
  bool fail();
  bool go_to(field next);

  field field_ = field::crc;
  state ended_ = state::needs_input;
  bzip2_block_header header_;
  std::uint8_t* out_ = nullptr;
  std::size_t most_ = 0;
  std::uint32_t number_ = 0;       // the last one that was read
  std::uint32_t used_groups_ = 0;  // of 16 byte values each, the first one in bit 15
  unsigned group_ = 0;
  std::array<std::uint8_t, 256> used_{};
  unsigned used_number_ = 0;
  unsigned codes_ = 0;
  unsigned selectors_ = 0;  // as the block states it
  unsigned selector_ = 0;   // the current one
  unsigned place_ = 0;      // of the selector in the list of recent codes
  std::array<std::uint8_t, most_codes> recent_codes_{};
  std::array<std::uint8_t, most_selectors> selected_{};
  unsigned code_ = 0;  // the current one
  unsigned length_ = 0;
  std::size_t lengths_ = 0;   // of the current code that are known
  bool reads_length_ = true;  // of a code: the first length is next
  std::array<std::uint8_t, bzip2_largest_alphabet> code_lengths_{};
  unsigned symbols_left_ = 0;  // of the current selector
  recent_bytes::storage recent_{};
  bzip2_symbols symbols_;
  std::unique_ptr<std::array<bzip2_code, most_codes>> tables_;
};

}  // namespace gpuhist::io
