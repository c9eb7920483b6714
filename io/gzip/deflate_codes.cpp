#include "io/gzip/deflate_codes.hpp"

#include <algorithm>
#include <bit>
#include <iterator>

namespace gpuhist::io {
namespace {

constexpr unsigned precode_bits = 7;
constexpr std::uint32_t complete_sum = 1U << max_code_bits;

/// Codes in canonical order: by length, then by symbol. The bits of a code are reversed, as they are in the data.
class canonical_codes {
 public:
  struct code {
    std::uint16_t symbol = 0;
    std::uint16_t length = 0;
    std::uint32_t bits = 0;
  };

  /// `lengths`: by symbol, of codes that are complete or have gaps at the end.
  explicit canonical_codes(std::span<const std::uint8_t> lengths) {
    for (const std::uint8_t length : lengths) ++begins_[length + 1U];
    begins_[1] = 0;  // symbols without a code
    for (unsigned length = 1; length <= max_code_bits; ++length) begins_[length + 1] += begins_[length];
    auto next = begins_;
    for (std::size_t symbol = 0; symbol < lengths.size(); ++symbol) {
      const std::uint8_t length = lengths[symbol];
      if (length != 0) codes_[next[length]++] = {.symbol = static_cast<std::uint16_t>(symbol), .length = length};
    }
    std::uint32_t bits = 0;
    for (code& each : std::span(codes_).first(begins_.back())) {
      each.bits = bits;
      // the next code is this one + 1: a carry passes the ones at the end, which are the highest of the reversed bits
      const std::uint32_t highest_zero = std::bit_floor(bits ^ ((1U << each.length) - 1));
      bits = (bits & (highest_zero - 1)) | highest_zero;
    }
  }

  [[nodiscard]] std::span<const code> all() const { return std::span(codes_).first(begins_.back()); }
  [[nodiscard]] std::span<const code> longer_than(unsigned length) const { return all().subspan(begins_[length + 1]); }
  [[nodiscard]] std::span<const code> of_length(unsigned length) const {
    return std::span(codes_).subspan(begins_[length], begins_[length + 1U] - begins_[length]);
  }

  /// Of the symbols that are bytes, which are the first ones of a length.
  [[nodiscard]] std::span<const code> literals_of_length(unsigned length) const {
    const auto codes = of_length(length);
    const auto end = std::ranges::find_if(codes, [](const code& each) { return each.symbol >= end_code; });
    return {codes.begin(), end};
  }

 private:
  std::array<std::uint16_t, max_code_bits + 2> begins_{};  // of each length in codes_
  std::array<code, 288> codes_;
};

void fill(std::span<std::uint32_t> table, unsigned code, unsigned length, std::uint32_t entry) {
  for (std::size_t at = code; at < table.size(); at += std::size_t{1} << length) table[at] = entry;
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
/// to a subtable by its offset and the bits of its index. A table for n bits is twice the one for n - 1 bits, except
/// where codes of n bits begin (libdeflate builds its tables so); `add` adds further entries for n bits.
template <unsigned Bits, std::size_t Size, class Entry, class Link, class Add>
void build_table(const canonical_codes& codes, std::uint32_t invalid, std::array<std::uint32_t, Size>& table,
                 const Entry& entry, const Link& link, const Add& add) {
  table[0] = invalid;  // where no code begins
  for (unsigned length = 1; length <= Bits; ++length) {
    const std::size_t half = std::size_t{1} << (length - 1);
    std::copy_n(table.begin(), half, table.begin() + half);
    for (const auto& each : codes.of_length(length)) table[each.bits] = entry(each.symbol, length);
    add(length);
  }
  constexpr std::size_t first_size = std::size_t{1} << Bits;
  std::size_t used = first_size;
  for (auto longer = codes.longer_than(Bits); !longer.empty();) {
    const std::size_t index = longer.front().bits % first_size;
    const auto end = std::ranges::find_if(longer, [&](const auto& each) { return each.bits % first_size != index; });
    const unsigned bits = std::prev(end)->length - Bits;
    const auto subtable = std::span(table).subspan(used, std::size_t{1} << bits);
    for (const auto& each : std::span(longer.begin(), end)) {
      fill(subtable, each.bits >> Bits, each.length - Bits, entry(each.symbol, each.length - Bits));
    }
    table[index] = link(used, bits);
    used += subtable.size();
    longer = {end, longer.end()};
  }
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
  const canonical_codes sorted(lengths);
  for (const auto& [symbol, length, code] : sorted.all()) {
    for (std::size_t at = code; at < table.codes.size(); at += std::size_t{1} << length) {
      table.codes[at] = {.symbol = static_cast<std::uint8_t>(symbol), .length = static_cast<std::uint8_t>(length)};
    }
  }
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
  const canonical_codes of_literals(literals);
  build_table<literal_bits>(
      of_literals, is_special, literals_, literal_entry,
      [](std::size_t offset, unsigned bits) {
        return is_special | subtable << kind_shift | static_cast<std::uint32_t>(offset) << offset_shift | bits << 8U;
      },
      [&](unsigned bits) {  // two literals whose codes have so many bits together
        for (unsigned of_first = 1; of_first < bits; ++of_first) {
          const auto seconds = of_literals.literals_of_length(bits - of_first);
          for (const auto& first : of_literals.literals_of_length(of_first)) {
            for (const auto& second : seconds) {
              literals_[first.bits | second.bits << of_first] = is_literal | 2U << 24U |
                                                                static_cast<std::uint32_t>(second.symbol) << 16U |
                                                                static_cast<std::uint32_t>(first.symbol) << 8U | bits;
            }
          }
        }
      });
  build_table<distance_bits>(
      canonical_codes(distances), is_special_distance, distances_, distance_entry,
      [](std::size_t offset, unsigned bits) {
        return is_special_distance | static_cast<std::uint32_t>(offset) << 16U | bits << 8U;
      },
      [](unsigned) {});
}

void deflate_tables::build_fixed() {
  std::array<std::uint8_t, 288> literals{};
  for (std::size_t i = 0; i < literals.size(); ++i) literals[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
  std::array<std::uint8_t, 32> distances{};
  distances.fill(5);
  build(literals, distances);
}

}  // namespace gpuhist::io
