// The Huffman codes of a bzip2 block, and tables that decode several symbols in one lookup.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace gpuhist::io {

inline constexpr unsigned bzip2_largest_alphabet = 258;  ///< two run symbols, 255 places of the list, end of block
inline constexpr unsigned bzip2_longest_code = 20;

/// What a code word, or a sequence of them, represents: any number of run symbols, then at most one other symbol.
///
///     bits:  29..21 symbol | 20..9 run | 8..5 symbols | 4..0 length
///
/// length: in bits; 0: no entry. run: the sum of the run symbols, the first one with weight 1, the next one with 2, ...
/// (the bijective base 2 of the format). symbol: 0 if only run symbols fit.
class bzip2_word {
 public:
  constexpr bzip2_word() = default;
  static constexpr bzip2_word of(unsigned symbol, unsigned length) {
    if (symbol <= run_b) return bzip2_word((symbol + 1) << 9U | 1U << 5U | length);
    return bzip2_word(symbol << 21U | 1U << 5U | length);
  }

  /// This word of run symbols, followed by `next`.
  [[nodiscard]] constexpr bzip2_word then(bzip2_word next) const {
    return bzip2_word(next.symbol() << 21U | (run() + (next.run() << symbols())) << 9U |
                      (symbols() + next.symbols()) << 5U | (length() + next.length()));
  }

  [[nodiscard]] constexpr unsigned length() const { return bits_ & 31U; }
  [[nodiscard]] constexpr unsigned symbols() const { return bits_ >> 5U & 15U; }
  [[nodiscard]] constexpr unsigned run() const { return bits_ >> 9U & 0xFFFU; }
  [[nodiscard]] constexpr unsigned symbol() const { return bits_ >> 21U; }

  static constexpr unsigned run_b = 1;  // the second run symbol; the first one is 0

 private:
  constexpr explicit bzip2_word(unsigned bits) : bits_(bits) {}
  std::uint32_t bits_ = 0;
};

/// One code. The code lengths of a file need not be those of a prefix code: as in the reference decoder, words are
/// given to symbols by increasing length and then symbol, and those beyond the last word of a length do not occur.
class bzip2_code {
 public:
  static constexpr unsigned most_table_bits = 10;

  /// `lengths`: 1 to 20 for each symbol of the alphabet. `table_bits`: at most 10; fewer are faster to build.
  void build(std::span<const std::uint8_t> lengths, unsigned table_bits);

  /// All run symbols and the symbol after them, as far as they are within the first table_bits of `bits`; no entry if
  /// the first code word is longer, or invalid.
  [[nodiscard]] bzip2_word several(std::uint64_t bits) const { return several_[bits >> shift_]; }

  /// The first symbol in `bits`; no entry if it is invalid. If only n bits are known and zeros follow, and the length
  /// is above n, then the length for the real bits is above n too.
  [[nodiscard]] bzip2_word one(std::uint64_t bits) const {
    const bzip2_word found = one_[bits >> shift_];
    return found.length() != 0 ? found : long_word(bits);
  }

 private:
  [[nodiscard]] bzip2_word long_word(std::uint64_t bits) const;
  void fill_tables(unsigned table_bits);

  unsigned shift_ = 63;
  std::array<bzip2_word, std::size_t{1} << most_table_bits> several_{};
  std::array<bzip2_word, std::size_t{1} << most_table_bits> one_{};
  // for each length: the first code word, as it would be with 20 bits; the number of shorter ones
  std::array<std::uint32_t, bzip2_longest_code + 2> first_{};
  std::array<std::uint16_t, bzip2_longest_code + 2> shorter_{};
  std::array<std::uint16_t, bzip2_largest_alphabet> symbols_{};  // by code word
};

}  // namespace gpuhist::io
