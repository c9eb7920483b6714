// The Huffman codes of a deflate block: tables that one thread fills and reads.
#pragma once

#include "gpu/cuda/deflate/bits.hpp"
#include "gpu/host_device.hpp"

#include <cstdint>

namespace gpuhist::gpu::cuda::deflate {

inline constexpr unsigned max_code_bits = 15;
inline constexpr unsigned literal_symbols = 288;  ///< literals, the end of the block, lengths; the last two are invalid
inline constexpr unsigned distance_symbols = 32;  ///< the last two are invalid
inline constexpr unsigned end_of_block = 256;
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
  /// codes of some length, or an incomplete code that `incomplete` rejects.
  GPUHIST_HOST_DEVICE bool build(const std::uint8_t* lengths, unsigned symbols, incomplete_code incomplete) {
    for (std::uint16_t& each : counts) each = 0;
    for (unsigned i = 0; i < symbols; ++i) ++counts[lengths[i]];
    const unsigned used = symbols - counts[0];
    counts[0] = 0;
    if (!is_valid(used, incomplete)) return false;
    sort(lengths, symbols);
    for (std::uint16_t& each : entries) each = 0;
    fill();
    return true;
  }

  /// The symbol whose code is in the lowest of these bits. no_symbol: there is no such code.
  [[nodiscard]] GPUHIST_HOST_DEVICE coded_symbol find(std::uint32_t ahead) const {
    const std::uint32_t entry = entries[ahead % (1U << TableBits)];
    if (entry == 0) return find_long(ahead);
    return {entry >> 4U, entry & 15U};
  }

 private:
  [[nodiscard]] GPUHIST_HOST_DEVICE bool is_valid(unsigned used, incomplete_code incomplete) const {
    std::int32_t left = 1;  // codes of this length that no shorter code is a prefix of
    for (unsigned length = 1; length <= max_code_bits; ++length) {
      left = 2 * left - counts[length];
      if (left < 0) return false;
    }
    if (left == 0) return true;
    return incomplete == incomplete_code::at_most_one_bit && (used == 0 || (used == 1 && counts[1] == 1));
  }

  GPUHIST_HOST_DEVICE void sort(const std::uint8_t* lengths, unsigned symbols) {
    std::uint16_t next_of[max_code_bits + 1];
    next_of[1] = 0;
    for (unsigned length = 1; length < max_code_bits; ++length) {
      next_of[length + 1] = static_cast<std::uint16_t>(next_of[length] + counts[length]);
    }
    for (unsigned i = 0; i < symbols; ++i) {
      if (lengths[i] != 0) sorted[next_of[lengths[i]]++] = static_cast<std::uint16_t>(i);
    }
  }

  GPUHIST_HOST_DEVICE void fill() {
    std::uint32_t code = 0;
    std::uint32_t index = 0;
    for (unsigned length = 1; length <= TableBits; ++length) {
      code <<= 1U;
      for (const std::uint32_t end = index + counts[length]; index < end; ++index, ++code) {
        const auto entry = static_cast<std::uint16_t>(std::uint32_t{sorted[index]} << 4U | length);
        const std::uint32_t first = reversed_bits(code, length);
        for (std::uint32_t at = first; at < 1U << TableBits; at += 1U << length) entries[at] = entry;
      }
    }
    first_long = static_cast<std::uint16_t>(code << 1U);
    index_long = static_cast<std::uint16_t>(index);
  }

  [[nodiscard]] GPUHIST_HOST_DEVICE coded_symbol find_long(std::uint32_t ahead) const {
    std::uint32_t code = reversed_bits(ahead, TableBits + 1);
    std::uint32_t first = first_long;
    std::uint32_t index = index_long;
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
    for (unsigned length = TableBits + 1; length <= max_code_bits; ++length) {
      const std::uint32_t count = counts[length];
      if (code - first < count) return {sorted[index + code - first], length};
      index += count;
      first = (first + count) << 1U;
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
    all.lengths[28] = 258;
    for (std::uint32_t i = 0; i < distance_count; ++i) {
      const std::uint32_t extra = i < 4 ? 0 : i / 2 - 1;
      all.distances[i] = (i < 4 ? i : (2 + i % 2) << extra) | extra << 16U;
    }
    return all;
  }
};

/// Memory of the thread that decodes a stream.
struct stream_memory {
  code_table<literal_symbols, 9> literals;
  code_table<distance_symbols, 7> distances;
};

/// The lengths of the codes of a block.
struct code_lengths {
  std::uint8_t at[literal_symbols + distance_symbols];
  unsigned literals;
  unsigned distances;
};

GPUHIST_HOST_DEVICE inline void set_fixed_lengths(code_lengths& to) {
  for (unsigned i = 0; i < literal_symbols; ++i) to.at[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
  for (unsigned i = 0; i < distance_symbols; ++i) to.at[literal_symbols + i] = 5;
  to.literals = literal_symbols;
  to.distances = distance_symbols;
}

/// Reads the description of a dynamic block (RFC 1951, 3.2.7). `table` is work memory. False: it is invalid.
GPUHIST_HOST_DEVICE inline bool read_lengths(forward_bits& bits, stream_memory& table, code_lengths& to) {
  constexpr unsigned length_symbols = 19;
  constexpr std::uint8_t order[length_symbols] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
  to.literals = bits.read(5) + 257;
  to.distances = bits.read(5) + 1;
  const unsigned described = bits.read(4) + 4;
  if (to.literals > 286 || to.distances > 30) return false;
  std::uint8_t of_lengths[length_symbols] = {};
  for (unsigned i = 0; i < described; ++i) {
    of_lengths[order[i]] = static_cast<std::uint8_t>(bits.read(3));
  }
  auto& code = table.distances;
  if (!code.build(of_lengths, length_symbols, incomplete_code::rejected)) return false;
  const unsigned all = to.literals + to.distances;
  std::uint8_t before = 0;
  for (unsigned i = 0; i < all;) {
    const auto [symbol, code_bits] = code.find(bits.peek());
    if (symbol == no_symbol) return false;
    bits.skip(code_bits);
    if (symbol < 16) {
      before = to.at[i++] = static_cast<std::uint8_t>(symbol);
      continue;
    }
    if (symbol == 16 && i == 0) return false;
    const std::uint32_t repeats = symbol == 16 ? 3 + bits.read(2) : symbol == 17 ? 3 + bits.read(3) : 11 + bits.read(7);
    if (repeats > all - i) return false;
    if (symbol != 16) before = 0;
    for (std::uint32_t k = 0; k < repeats; ++k) to.at[i++] = before;
  }
  return to.at[end_of_block] != 0;
}

GPUHIST_HOST_DEVICE inline bool build(const code_lengths& lengths, stream_memory& to) {
  return to.literals.build(lengths.at, lengths.literals, incomplete_code::rejected) &&
         to.distances.build(lengths.at + lengths.literals, lengths.distances, incomplete_code::at_most_one_bit);
}

/// The codes of a dynamic block, after its type. False: they are invalid.
GPUHIST_HOST_DEVICE inline bool read_codes(forward_bits& bits, stream_memory& to) {
  code_lengths lengths{};
  return read_lengths(bits, to, lengths) && build(lengths, to);
}

GPUHIST_HOST_DEVICE inline bool set_fixed_codes(stream_memory& to) {
  code_lengths lengths{};
  set_fixed_lengths(lengths);
  return build(lengths, to);
}

}  // namespace gpuhist::gpu::cuda::deflate
