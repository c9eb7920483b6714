// Decodes the text of short gzip members. To build tables for fast decoding takes longer than to decode a hundred
// bytes, so files of very many short members have a decoder with small tables.
#pragma once

#include "io/gzip/deflate_bits.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace gpuhist::io {

/// Accepts less than deflate permits: blocks with codes of their own, no code of more than 10 bits, at most `most_text`
/// bytes of text. Everything else, and all damage, is left to the decoder of long members.
class short_member {
 public:
  static constexpr std::size_t most_text = 2048;

  struct decoded {
    std::size_t in = 0;   ///< bytes up to the trailer
    std::size_t out = 0;  ///< bytes of text
  };

  /// `in`: from the first block of the member on. Nothing: it is not accepted, or is longer than `in` or `out`. Bytes
  /// of `out` may have been written.
  std::optional<decoded> decode(std::span<const std::byte> in, std::span<std::byte> out);

 private:
  static constexpr unsigned most_code_bits = 10;

  /// The symbols of a code that occur, in order, and a table by the next bits: symbol and length.
  struct code {
    struct entry {
      std::uint16_t symbol = 0;
      std::uint16_t length = 0;  ///< 0: no code begins with these bits
    };

    void clear();
    void add(std::size_t symbol, unsigned length);
    /// False: the code is not complete, or too long.
    bool build();
    [[nodiscard]] entry find(std::uint64_t bits) const { return table[bits & mask]; }

    std::array<entry, 288> symbols;
    std::size_t number = 0;
    std::array<std::uint16_t, 16> of_length{};
    std::array<entry, std::size_t{1} << most_code_bits> table;
    std::uint64_t mask = 0;
  };

  bool read_codes(deflate_bits& bits);
  bool read_precode(deflate_bits& bits, unsigned number);
  std::optional<std::size_t> decode_text(deflate_bits& bits, std::span<std::byte> out, std::size_t at) const;

  code literals_;
  code distances_;
  code precode_;
};

}  // namespace gpuhist::io
