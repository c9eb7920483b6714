#include "io/gzip/deflate_codes.hpp"

#include <algorithm>

namespace gpuhist::io {
namespace {

constexpr unsigned precode_bits = 7;
constexpr std::uint32_t complete_sum = 1U << max_code_bits;

/// Codes in canonical order: by length, then by symbol. Calls use(symbol, length, code) with the bits of the code
/// reversed, as they are in the data.
template <class Use>
void for_each_code(std::span<const std::uint8_t> lengths, const Use& use) {
  std::array<std::uint16_t, max_code_bits + 2> first{};  // the next code of each length
  std::array<std::uint16_t, max_code_bits + 1> number{};
  for (const std::uint8_t length : lengths) ++number[length];
  number[0] = 0;
  for (unsigned length = 1; length <= max_code_bits; ++length) {
    first[length + 1] = static_cast<std::uint16_t>((first[length] + number[length]) << 1U);
  }
  for (std::size_t symbol = 0; symbol < lengths.size(); ++symbol) {
    const unsigned length = lengths[symbol];
    if (length == 0) continue;
    unsigned reversed = 0;
    for (unsigned code = first[length]++, bit = 0; bit < length; ++bit, code >>= 1U) {
      reversed = reversed << 1U | (code & 1U);
    }
    use(symbol, length, reversed);
  }
}

void fill(std::span<std::uint32_t> table, unsigned code, unsigned length, std::uint32_t entry) {
  for (std::size_t at = code; at < table.size(); at += std::size_t{1} << length) table[at] = entry;
}

/// The longest code of each subtable, by the first `bits` bits of the code.
template <std::size_t Size>
void measure(std::span<const std::uint8_t> lengths, unsigned bits, std::array<std::uint8_t, Size>& longest) {
  for_each_code(lengths, [&](std::size_t, unsigned length, unsigned code) {
    if (length <= bits) return;
    std::uint8_t& known = longest[code & (Size - 1)];
    known = std::max(known, static_cast<std::uint8_t>(length));
  });
}

std::uint32_t literal_entry(std::size_t symbol, unsigned length) {
  using tables = deflate_tables;
  if (symbol < end_code) return tables::is_literal | 1U << 24U | static_cast<std::uint32_t>(symbol) << 8U | length;
  if (symbol == end_code) return tables::is_special | tables::end_of_block << tables::kind_shift | length;
  const std::size_t code = symbol - end_code - 1;
  if (code >= length_bases.size()) return tables::is_special;
  return static_cast<std::uint32_t>(length_bases[code]) << 16U | length << 8U | (length + length_extras[code]);
}

std::uint32_t distance_entry(std::size_t symbol, unsigned length) {
  if (symbol >= distance_bases.size()) return deflate_tables::is_special_distance;
  return static_cast<std::uint32_t>(distance_bases[symbol]) << 16U | length << 8U | (length + distance_extras[symbol]);
}

/// Fills a table of 2^Bits entries and its subtables. `entry` makes the entry of a symbol, `link` the one that refers
/// to a subtable by its offset and the bits of its index.
template <unsigned Bits, std::size_t Size, class Entry, class Link>
void build_table(std::span<const std::uint8_t> lengths, std::uint32_t invalid, std::array<std::uint32_t, Size>& table,
                 const Entry& entry, const Link& link) {
  constexpr std::size_t first_size = std::size_t{1} << Bits;
  if (kraft_sum(lengths) != complete_sum) std::fill_n(table.begin(), first_size, invalid);
  std::array<std::uint8_t, first_size> longest{};   // code of each subtable
  std::array<std::uint16_t, first_size> offsets{};  // of each subtable; 0: it was not yet used
  if (std::ranges::any_of(lengths, [](unsigned length) { return length > Bits; })) measure(lengths, Bits, longest);
  std::size_t used = first_size;
  for_each_code(lengths, [&](std::size_t symbol, unsigned length, unsigned code) {
    if (length <= Bits) return fill(std::span(table).first(first_size), code, length, entry(symbol, length));
    const unsigned index = code & (first_size - 1);
    const unsigned bits = longest[index] - Bits;
    if (offsets[index] == 0) {
      offsets[index] = static_cast<std::uint16_t>(used);
      table[index] = link(used, bits);
      used += std::size_t{1} << bits;
    }
    fill(std::span(table).subspan(offsets[index], std::size_t{1} << bits), code >> Bits, length - Bits,
         entry(symbol, length - Bits));
  });
}

/// Whether a code is complete, or has one code of one bit.
bool is_permitted(std::span<const std::uint8_t> lengths) {
  const std::uint32_t sum = kraft_sum(lengths);
  return sum == complete_sum || (sum == complete_sum / 2 && std::ranges::count(lengths, 1) == 1);
}

/// The lengths of the precode, as a table of its codes: symbol and length by the next 7 bits.
struct precode_table {
  struct code {
    std::uint8_t symbol = 0;
    std::uint8_t length = 0;
  };
  std::array<code, std::size_t{1} << precode_bits> codes{};
};

bool read_precode(deflate_bits& bits, unsigned number, precode_table& table) {
  std::array<std::uint8_t, precode_order.size()> lengths{};
  for (unsigned i = 0; i < number; ++i) lengths[precode_order[i]] = static_cast<std::uint8_t>(bits.read(3));
  if (kraft_sum(lengths) != complete_sum) return false;
  for_each_code(lengths, [&](std::size_t symbol, unsigned length, unsigned code) {
    for (std::size_t at = code; at < table.codes.size(); at += std::size_t{1} << length) {
      table.codes[at] = {.symbol = static_cast<std::uint8_t>(symbol), .length = static_cast<std::uint8_t>(length)};
    }
  });
  return true;
}

}  // namespace

std::uint32_t kraft_sum(std::span<const std::uint8_t> lengths) {
  std::uint32_t sum = 0;
  for (const unsigned length : lengths) sum += length == 0 ? 0U : 1U << (max_code_bits - length);
  return sum;
}

bool read_lengths(deflate_bits& bits, deflate_lengths& lengths) {
  lengths.literals = 257 + bits.read(5);
  lengths.distances = 1 + bits.read(5);
  const unsigned precodes = 4 + bits.read(4);
  if (lengths.literals > max_literal_codes || lengths.distances > max_distance_codes) return false;
  precode_table precode;
  if (!read_precode(bits, precodes, precode)) return false;

  const std::size_t total = lengths.literals + lengths.distances;
  for (std::size_t at = 0; at < total;) {
    bits.refill();
    const auto [symbol, length] = precode.codes[bits.peek() & (precode.codes.size() - 1)];
    bits.take(length);
    if (symbol < 16) {
      lengths.all[at++] = symbol;
      continue;
    }
    if (symbol == 16 && at == 0) return false;
    const std::uint8_t repeated = symbol == 16 ? lengths.all[at - 1] : std::uint8_t{0};
    const std::size_t times = symbol == 16 ? 3 + bits.read(2) : symbol == 17 ? 3 + bits.read(3) : 11 + bits.read(7);
    if (times > total - at) return false;
    std::fill_n(lengths.all.begin() + static_cast<std::ptrdiff_t>(at), times, repeated);
    at += times;
  }
  const auto distances = std::span(lengths.all).subspan(lengths.literals, lengths.distances);
  return lengths.all[end_code] != 0 && is_permitted(std::span(lengths.all).first(lengths.literals)) &&
         (kraft_sum(distances) == 0 || is_permitted(distances));
}

void deflate_tables::build(std::span<const std::uint8_t> literals, std::span<const std::uint8_t> distances) {
  build_table<literal_bits>(literals, is_special, literals_, literal_entry, [](std::size_t offset, unsigned bits) {
    return is_special | subtable << kind_shift | static_cast<std::uint32_t>(offset) << offset_shift | bits << 8U;
  });
  build_table<distance_bits>(distances, is_special_distance, distances_, distance_entry,
                             [](std::size_t offset, unsigned bits) {
                               return is_special_distance | static_cast<std::uint32_t>(offset) << 16U | bits << 8U;
                             });
  pair_literals();
}

/// Replaces an entry of a literal by one of two literals where the second code is in the index, too. From the last
/// entry to the first, because the second literal is read from an entry before the first one.
void deflate_tables::pair_literals() {
  for (std::size_t at = std::size_t{1} << literal_bits; at-- != 0;) {
    const std::uint32_t first = literals_[at];
    if ((first & is_literal) == 0) continue;
    const unsigned bits = first & 0xFFU;
    const std::uint32_t second = literals_[at >> bits];
    if ((second & is_literal) == 0 || bits + (second & 0xFFU) > literal_bits) continue;
    literals_[at] = is_literal | 2U << 24U | (second & 0xFF00U) << 8U | (first & 0xFF00U) | (bits + (second & 0xFFU));
  }
}

void deflate_tables::build_fixed() {
  std::array<std::uint8_t, 288> literals{};
  for (std::size_t i = 0; i < literals.size(); ++i) literals[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
  std::array<std::uint8_t, 32> distances{};
  distances.fill(5);
  build(literals, distances);
}

}  // namespace gpuhist::io
