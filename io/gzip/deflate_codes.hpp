// The Huffman codes of deflate blocks: their description in a block's header, and tables that decode them.
#pragma once

#include "io/gzip/deflate_bits.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace gpuhist::io {

inline constexpr std::size_t max_literal_codes = 286;
inline constexpr std::size_t max_distance_codes = 30;
inline constexpr unsigned max_code_bits = 15;

/// The lengths of the codes of one block, in bits; 0: the code does not occur.
struct deflate_lengths {
  std::array<std::uint8_t, max_literal_codes + max_distance_codes> all{};  ///< first literals, then distances
  std::size_t literals = 0;
  std::size_t distances = 0;
};

/// Reads the lengths of a dynamic block, after the first three bits of the block. False if they are no permitted codes:
/// each must be complete; the code of distances may be empty, or have one code of one bit. More than the permitted
/// codes are refused here than by some decoders, never fewer.
bool read_lengths(deflate_bits& bits, deflate_lengths& lengths);

/// Tables for both codes of a block.
///
///     literal entry   1 . . . . . nn | 2nd literal | 1st literal | bits      n = 1 or 2 literals
///     length entry    0 0 . . . . . base (9)       | code bits   | bits      bits: code and extra bits
///     special entry   0 1 kk | offset (15) | index bits (5)      | bits      k: invalid, end of block or subtable
///     distance entry  0 | base (15)                | code bits   | bits
///     special entry   1 | offset (15)              | index bits  | bits      offset 0: invalid
class deflate_tables {
 public:
  static constexpr unsigned literal_bits = 11;
  static constexpr unsigned distance_bits = 9;

  static constexpr std::uint32_t is_literal = 1U << 31U;
  static constexpr std::uint32_t is_special = 1U << 30U;
  static constexpr std::uint32_t kind_shift = 28;
  static constexpr std::uint32_t end_of_block = 1;
  static constexpr std::uint32_t subtable = 2;
  static constexpr std::uint32_t offset_shift = 13;
  static constexpr std::uint32_t is_special_distance = 1U << 31U;

  /// `lengths` must be those of read_lengths(), or of fixed codes.
  void build(std::span<const std::uint8_t> literals, std::span<const std::uint8_t> distances);

  /// The codes of blocks with fixed codes.
  void build_fixed();

  [[nodiscard]] const std::uint32_t* literals() const { return literals_.data(); }
  [[nodiscard]] const std::uint32_t* distances() const { return distances_.data(); }

 private:
  void pair_literals();

  // A subtable of 2^k entries holds at least k + 1 codes, because codes are complete: 288 codes need at most
  // 288 / 5 * 16 entries in addition to the first 2^11, 32 distances at most 32 / 7 * 64 in addition to the first 2^9.
  std::array<std::uint32_t, (std::size_t{1} << literal_bits) + 928> literals_{};
  std::array<std::uint32_t, (std::size_t{1} << distance_bits) + 320> distances_{};
};

/// The sum of 2^(15 - length) of all codes: 2^15 if a code is complete.
std::uint32_t kraft_sum(std::span<const std::uint8_t> lengths);

}  // namespace gpuhist::io
