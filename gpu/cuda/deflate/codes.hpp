// The Huffman codes of a deflate block: tables that a team fills, and whose threads then read them.
#pragma once

#include "gpu/cuda/deflate/bits.hpp"
#include "gpu/host_device.hpp"

#include <cstdint>

namespace gpuhist::gpu::cuda::deflate {

inline constexpr unsigned max_code_bits = 15;
inline constexpr unsigned literal_symbols = 288;  ///< literals, the end of the block, lengths; the last two are invalid
inline constexpr unsigned distance_symbols = 32;  ///< the last two are invalid
inline constexpr unsigned end_of_block = 256;
inline constexpr std::uint32_t longest_match = 258;
inline constexpr std::uint32_t no_symbol = 0xffff;

/// A symbol and the length of its code.
struct coded_symbol {
  std::uint32_t symbol;
  std::uint32_t bits;
};

GPUHIST_HOST_DEVICE inline std::uint32_t reversed_bits(std::uint32_t value, unsigned count) {
#if defined(__CUDA_ARCH__)
  return __brev(value) >> (32 - count);
#else
  std::uint32_t reversed = 0;
  for (unsigned i = 0; i < count; ++i) reversed |= (value >> i & 1U) << (count - 1 - i);
  return reversed;
#endif
}

/// Whether a code may be incomplete: that of distances may be empty, or one code of one bit (RFC 1951, 3.2.7).
enum class incomplete_code : std::uint8_t { rejected, at_most_one_bit };

/// A canonical code (RFC 1951, 3.2.2). Codes of up to TableBits bits are found by one look-up, longer ones bit by bit
/// in the lists of their lengths.
template <unsigned Symbols, unsigned TableBits>
struct code_table {
  std::uint16_t entries[1U << TableBits];  ///< symbol << 4 | length; 0: a longer code, or none
  std::uint16_t counts[max_code_bits + 1];
  std::uint16_t first_long;       ///< the first code that is one bit longer than those of the table
  std::uint16_t index_long;       ///< of its symbol in `sorted`
  std::uint16_t sorted[Symbols];  ///< by length, then by symbol

  /// Fills the table. Lengths are 0 to 15; 0: the symbol is not used. Returns false if the code is invalid: too many
  /// codes of some length, or an incomplete code that `incomplete` rejects. All threads of the team call it; what they
  /// have read of the table and written to `lengths` need not be separated from it.
  template <class Team>
  GPUHIST_HOST_DEVICE bool build(const Team& team, const std::uint8_t* lengths, unsigned symbols,
                                 incomplete_code incomplete) {
    team.sync();
    for (unsigned length = 1 + team.rank(); length <= max_code_bits; length += Team::size) {
      unsigned count = 0;
      for (unsigned i = 0; i < symbols; ++i) count += lengths[i] == length ? 1U : 0U;
      counts[length] = static_cast<std::uint16_t>(count);
    }
    team.sync();
    if (!is_valid(incomplete)) return false;
    for (unsigned length = 1 + team.rank(); length <= max_code_bits; length += Team::size)
      sort(lengths, symbols, length);
    team.sync();
    for (unsigned ahead = team.rank(); ahead < 1U << TableBits; ahead += Team::size) {
      const coded_symbol found = find_from(1, {}, ahead, TableBits);
      entries[ahead] = static_cast<std::uint16_t>(found.symbol == no_symbol ? 0 : found.symbol << 4U | found.bits);
    }
    if (team.rank() == 0) set_long();
    team.sync();
    return true;
  }

  /// The symbol whose code is in the lowest of these bits. no_symbol: there is no such code.
  [[nodiscard]] GPUHIST_HOST_DEVICE coded_symbol find(std::uint32_t ahead) const {
    const std::uint32_t entry = entries[ahead % (1U << TableBits)];
    if (entry == 0) return find_from(TableBits + 1, {first_long, index_long}, ahead, max_code_bits);
    return {entry >> 4U, entry & 15U};
  }

 private:
  /// The first code of a length, and the index of its symbol.
  struct codes_of_length {
    std::uint32_t first = 0;
    std::uint32_t index = 0;
  };

  [[nodiscard]] GPUHIST_HOST_DEVICE bool is_valid(incomplete_code incomplete) const {
    unsigned used = 0;
    std::int32_t left = 1;  // codes of this length that no shorter code is a prefix of
    for (unsigned length = 1; length <= max_code_bits; ++length) {
      used += counts[length];
      left = 2 * left - counts[length];
      if (left < 0) return false;
    }
    if (left == 0) return true;
    return incomplete == incomplete_code::at_most_one_bit && (used == 0 || (used == 1 && counts[1] == 1));
  }

  /// Only the symbols with codes of this length.
  GPUHIST_HOST_DEVICE void sort(const std::uint8_t* lengths, unsigned symbols, unsigned length) {
    unsigned index = 0;
    for (unsigned shorter = 1; shorter < length; ++shorter) index += counts[shorter];
    for (unsigned i = 0; i < symbols; ++i) {
      if (lengths[i] == length) sorted[index++] = static_cast<std::uint16_t>(i);
    }
  }

  GPUHIST_HOST_DEVICE void set_long() {
    codes_of_length long_codes;
    for (unsigned length = 1; length <= TableBits; ++length) {
      long_codes.index += counts[length];
      long_codes.first = (long_codes.first + counts[length]) << 1U;
    }
    first_long = static_cast<std::uint16_t>(long_codes.first);
    index_long = static_cast<std::uint16_t>(long_codes.index);
  }

  /// Of the codes of `length` to `longest` bits.
  [[nodiscard]] GPUHIST_HOST_DEVICE coded_symbol find_from(unsigned length, codes_of_length codes, std::uint32_t ahead,
                                                           unsigned longest) const {
    std::uint32_t code = reversed_bits(ahead, length);
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
    for (; length <= longest; ++length) {
      const std::uint32_t count = counts[length];
      if (code - codes.first < count) return {sorted[codes.index + code - codes.first], length};
      codes.index += count;
      codes.first = (codes.first + count) << 1U;
      code = code << 1U | (ahead >> length & 1U);
    }
    return {no_symbol, 0};
  }
};

/// What the symbols of lengths and distances mean (RFC 1951, 3.2.5): base | number of extra bits << 16.
struct symbol_meanings {
  static constexpr std::uint32_t first_length = 257;
  static constexpr std::uint32_t last_length = 285;
  static constexpr std::uint32_t distance_count = 30;

  std::uint32_t lengths[last_length + 1 - first_length];
  std::uint32_t distances[distance_count];  ///< less 1, as sequences have them

  static constexpr symbol_meanings make() {
    symbol_meanings all{};
    for (std::uint32_t i = 0; i < 28; ++i) {
      const std::uint32_t extra = i < 8 ? 0 : i / 4 - 1;
      all.lengths[i] = (i < 8 ? i + 3 : 3 + ((4 + i % 4) << extra)) | extra << 16U;
    }
    all.lengths[28] = longest_match;
    for (std::uint32_t i = 0; i < distance_count; ++i) {
      const std::uint32_t extra = i < 4 ? 0 : i / 2 - 1;
      all.distances[i] = (i < 4 ? i : (2 + i % 2) << extra) | extra << 16U;
    }
    return all;
  }
};

/// The lengths of the codes of a block.
struct code_lengths {
  std::uint8_t at[literal_symbols + distance_symbols];
  std::uint8_t of_lengths[32];  ///< of the code of the lengths, which has 19 symbols
};

/// The codes of a block, in memory that all threads of a team use.
struct block_code_tables {
  code_table<literal_symbols, 10> literals;
  code_table<distance_symbols, 8> distances;
  code_lengths lengths;  ///< work memory
};

template <class Team>
GPUHIST_HOST_DEVICE bool build(const Team& team, unsigned literals, unsigned distances, block_code_tables& to) {
  const std::uint8_t* const lengths = to.lengths.at;
  return to.literals.build(team, lengths, literals, incomplete_code::rejected) &&
         to.distances.build(team, lengths + literals, distances, incomplete_code::at_most_one_bit);
}

/// Reads the lengths of so many codes, whose own code is in `to.distances`. One thread calls it. False: they are
/// invalid.
GPUHIST_HOST_DEVICE inline bool read_lengths(forward_bits& bits, unsigned all, block_code_tables& to) {
  std::uint8_t* const lengths = to.lengths.at;
  std::uint8_t before = 0;
  for (unsigned i = 0; i < all;) {
    const auto [symbol, code_bits] = to.distances.find(bits.peek());
    if (symbol == no_symbol) return false;
    bits.skip(code_bits);
    if (symbol < 16) {
      before = lengths[i++] = static_cast<std::uint8_t>(symbol);
      continue;
    }
    if (symbol == 16 && i == 0) return false;
    const std::uint32_t repeats = symbol == 16 ? 3 + bits.read(2) : symbol == 17 ? 3 + bits.read(3) : 11 + bits.read(7);
    if (repeats > all - i) return false;
    if (symbol != 16) before = 0;
    for (std::uint32_t k = 0; k < repeats; ++k) lengths[i++] = before;
  }
  return lengths[end_of_block] != 0;
}

/// The codes of a dynamic block, after its type (RFC 1951, 3.2.7). False: they are invalid. All threads of the team
/// call it, with the same bits.
template <class Team>
GPUHIST_HOST_DEVICE bool read_codes(const Team& team, forward_bits& bits, block_code_tables& to) {
  constexpr unsigned length_symbols = 19;
  constexpr std::uint8_t order[length_symbols] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
  const unsigned literals = bits.read(5) + 257;
  const unsigned distances = bits.read(5) + 1;
  const unsigned described = bits.read(4) + 4;
  if (literals > 286 || distances > 30) return false;
  team.sync();  // the lengths may be read by others
  for (unsigned i = team.rank(); i < length_symbols; i += Team::size) {
    forward_bits own = bits;
    own.skip(3 * i);
    to.lengths.of_lengths[order[i]] = static_cast<std::uint8_t>(i < described ? own.read(3) : 0);
  }
  bits.skip(3 * described);
  if (!to.distances.build(team, to.lengths.of_lengths, length_symbols, incomplete_code::rejected)) return false;
  forward_bits after = bits;
  std::uint32_t is_valid = team.rank() == 0 && read_lengths(after, literals + distances, to) ? 1 : 0;
  is_valid = team.value_of(is_valid, 0);
  bits.skip(team.value_of(after.place() - bits.place(), 0));
  return is_valid != 0 && build(team, literals, distances, to);
}

template <class Team>
GPUHIST_HOST_DEVICE bool set_fixed_codes(const Team& team, block_code_tables& to) {
  team.sync();
  for (unsigned i = team.rank(); i < literal_symbols + distance_symbols; i += Team::size) {
    const unsigned length = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : i < literal_symbols ? 8 : 5;
    to.lengths.at[i] = static_cast<std::uint8_t>(length);
  }
  return build(team, literal_symbols, distance_symbols, to);
}

}  // namespace gpuhist::gpu::cuda::deflate
