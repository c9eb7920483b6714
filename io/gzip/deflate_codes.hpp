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
inline constexpr std::size_t end_code = 256;  ///< ends a block

/// The order in which the lengths of the precode are stored (RFC 1951, 3.2.7), and the lengths and distances by code.
inline constexpr std::array<std::uint8_t, 19> precode_order{16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                            11, 4,  12, 3, 13, 2, 14, 1, 15};

/// Code 284 has lengths up to 258, too, as all decoders accept.
inline constexpr std::array<std::uint16_t, 29> length_bases{
    3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
inline constexpr std::array<std::uint8_t, 29> length_extras{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                                            2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
inline constexpr std::array<std::uint16_t, 30> distance_bases{
    1,   2,   3,   4,   5,   7,    9,    13,   17,   25,   33,   49,   65,    97,    129,
    193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
inline constexpr std::array<std::uint8_t, 30> distance_extras{0, 0, 0, 0, 1, 1, 2, 2,  3,  3,  4,  4,  5,  5,  6,
                                                              6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13};

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
  // A subtable of 2^k entries holds at least k + 1 codes, because codes are complete: 288 codes need at most
  // 288 / 5 * 16 entries in addition to the first 2^11, 32 distances at most 32 / 7 * 64 in addition to the first 2^9.
  std::array<std::uint32_t, (std::size_t{1} << literal_bits) + 928> literals_{};
  std::array<std::uint32_t, (std::size_t{1} << distance_bits) + 320> distances_{};
};

/// The sum of 2^(15 - length) of all codes: 2^15 if a code is complete.
std::uint32_t kraft_sum(std::span<const std::uint8_t> lengths);

}  // namespace gpuhist::io
