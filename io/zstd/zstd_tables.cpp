#include "io/zstd/zstd_tables.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace gpuhist::io {
namespace {

constexpr unsigned max_symbols = 256;

/// Reads little endian bits from the front. Bits after the end are zeros.
class forward_bits {
 public:
  explicit forward_bits(std::span<const std::byte> bytes) : bytes_(bytes) {}

  /// At most 16 bits.
  [[nodiscard]] std::uint32_t peek(unsigned bits) const {
    std::uint32_t word = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      const std::size_t from = at_ / 8 + i;
      if (from < bytes_.size()) word |= std::to_integer<std::uint32_t>(bytes_[from]) << (8 * i);
    }
    return word >> (at_ % 8) & ((1U << bits) - 1);
  }
  void skip(unsigned bits) { at_ += bits; }
  [[nodiscard]] std::size_t bytes_read() const { return (at_ + 7) / 8; }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;  // in bits
};

/// Reads bits from the back, after the end mark: the highest bit that is set. Bits before the front are zeros.
class backward_bits {
 public:
  /// Precondition: the last byte is not 0.
  explicit backward_bits(std::span<const std::byte> bytes)
      : bytes_(bytes),
        left_(8 * static_cast<std::ptrdiff_t>(bytes.size()) - 1 -
              std::countl_zero(std::to_integer<std::uint8_t>(bytes.back()))) {}

  std::uint32_t read(unsigned bits) {
    std::uint32_t value = 0;
    for (unsigned i = 0; i < bits; ++i) {
      --left_;
      value <<= 1U;
      if (left_ < 0) continue;
      const auto at = static_cast<std::size_t>(left_);
      value |= std::to_integer<std::uint32_t>(bytes_[at / 8]) >> (at % 8) & 1U;
    }
    return value;
  }
  [[nodiscard]] bool is_exceeded() const { return left_ < 0; }

 private:
  std::span<const std::byte> bytes_;
  std::ptrdiff_t left_;
};

/// A distribution (RFC 8878, 4.1.1): a count of -1 is a probability below 1.
struct distribution {
  std::array<std::int16_t, max_symbols> counts{};
  unsigned symbols = 0;
  unsigned log = 0;
  std::size_t bytes = 0;  ///< of its description
};

// A value of 0 to rest + 1, one more than the count. The smaller values have one bit less.
int read_count(forward_bits& bits, std::uint32_t rest) {
  const auto width = static_cast<unsigned>(std::bit_width(rest + 1));
  const std::uint32_t half = 1U << (width - 1);
  const std::uint32_t short_values = 2 * half - (rest + 2);
  std::uint32_t value = bits.peek(width - 1);
  if (value < short_values) {
    bits.skip(width - 1);
  } else {
    value = bits.peek(width);
    if (value >= half) value -= short_values;
    bits.skip(width);
  }
  return static_cast<int>(value) - 1;
}

std::optional<distribution> read_distribution(std::span<const std::byte> bytes, unsigned most_symbols,
                                              unsigned max_log) {
  distribution read;
  forward_bits bits(bytes);
  read.log = bits.peek(4) + 5;
  bits.skip(4);
  if (read.log > max_log) return std::nullopt;
  std::uint32_t rest = 1U << read.log;
  while (rest > 0) {
    if (read.symbols >= most_symbols) return std::nullopt;
    const int count = read_count(bits, rest);
    read.counts[read.symbols++] = static_cast<std::int16_t>(count);
    rest -= static_cast<std::uint32_t>(count < 0 ? 1 : count);
    if (count != 0) continue;
    for (std::uint32_t zeros = 3; zeros == 3; read.symbols += zeros) {
      zeros = bits.peek(2);
      bits.skip(2);
      if (zeros > most_symbols - read.symbols) return std::nullopt;
    }
  }
  read.bytes = bits.bytes_read();
  if (read.bytes > bytes.size()) return std::nullopt;
  return read;
}

/// The inverse of read_distribution().
std::vector<std::byte> write_distribution(const distribution& of) {
  std::vector<std::byte> bytes;
  std::uint64_t bits = of.log - 5;
  unsigned number = 4;  // of bits
  const auto put = [&](std::uint64_t value, unsigned width) {
    bits |= value << number;
    for (number += width; number >= 8; number -= 8, bits >>= 8U) bytes.push_back(static_cast<std::byte>(bits & 0xFFU));
  };
  std::uint32_t rest = 1U << of.log;
  for (unsigned symbol = 0; symbol < of.symbols; ++symbol) {
    const int count = of.counts[symbol];
    const auto width = static_cast<unsigned>(std::bit_width(rest + 1));
    const std::uint32_t half = 1U << (width - 1);
    const std::uint32_t short_values = 2 * half - (rest + 2);
    const auto value = static_cast<std::uint32_t>(count + 1);
    const bool is_short = value < short_values;
    put(!is_short && value >= half ? value + short_values : value, is_short ? width - 1 : width);
    rest -= static_cast<std::uint32_t>(count < 0 ? 1 : count);
    if (count != 0) continue;
    unsigned zeros = 0;
    while (of.counts[symbol + 1] == 0) ++symbol, ++zeros;
    for (; zeros >= 3; zeros -= 3) put(3, 2);
    put(zeros, 2);
  }
  if (number != 0) bytes.push_back(static_cast<std::byte>(bits));
  return bytes;
}

/// Calls `place(state, symbol, next, next_bits)` for each state.
template <typename Place>
void spread(const distribution& of, const Place& place) {
  constexpr std::size_t max_states = std::size_t{1} << zstd_sequence_table::max_log;
  std::array<std::uint8_t, max_states> symbol_of{};
  std::array<std::uint16_t, max_symbols> uses{};
  const std::uint32_t size = 1U << of.log;
  const std::uint32_t step = (size >> 1U) + (size >> 3U) + 3;
  std::uint32_t top = size;
  for (unsigned symbol = 0; symbol < of.symbols; ++symbol) {
    uses[symbol] = static_cast<std::uint16_t>(of.counts[symbol] < 0 ? 1 : of.counts[symbol]);
    if (of.counts[symbol] < 0) symbol_of[--top] = static_cast<std::uint8_t>(symbol);
  }
  std::uint32_t at = 0;
  for (unsigned symbol = 0; symbol < of.symbols; ++symbol) {
    for (int i = 0; i < of.counts[symbol]; ++i) {
      symbol_of[at] = static_cast<std::uint8_t>(symbol);
      do {
        at = (at + step) & (size - 1);
      } while (at >= top);
    }
  }
  for (std::uint32_t state = 0; state < size; ++state) {
    const std::uint8_t symbol = symbol_of[state];
    const std::uint32_t number = uses[symbol]++;
    const unsigned bits = of.log + 1 - static_cast<unsigned>(std::bit_width(number));
    place(state, symbol, (number << bits) - size, bits);
  }
}

/// The number that each symbol of a code represents, and the predefined distribution (RFC 8878, 3.1.1.3.2).
struct code_meaning {
  std::array<std::uint32_t, 53> base{};
  std::array<std::uint8_t, 53> extra_bits{};
  unsigned symbols = 0;
  unsigned max_log = 0;
  distribution predefined;
};

template <std::size_t Size>
distribution predefined_of(const std::array<std::int16_t, Size>& counts, unsigned log) {
  distribution made;
  std::ranges::copy(counts, made.counts.begin());
  made.symbols = Size;
  made.log = log;
  return made;
}

// Codes of lengths: the first ones mean one length each, the last ones `bits` each.
template <std::size_t Size>
code_meaning lengths(std::uint32_t first, unsigned single, const std::array<std::uint8_t, Size>& bits) {
  code_meaning made{.symbols = single + static_cast<unsigned>(Size), .max_log = 9, .predefined = {}};
  for (unsigned i = 0; i < made.symbols; ++i) {
    made.base[i] = first;
    made.extra_bits[i] = i < single ? std::uint8_t{0} : bits[i - single];
    first += 1U << made.extra_bits[i];
  }
  return made;
}

std::array<code_meaning, zstd_codes> make_meanings() {
  code_meaning literals = lengths<20>(0, 16, {1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16});
  literals.predefined = predefined_of<36>(
      {4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, -1, -1, -1, -1},
      6);
  code_meaning matches = lengths<21>(3, 32, {1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16});
  matches.predefined =
      predefined_of<53>({1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,  1,  1,  1,  1,  1,  1, 1,
                         1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1},
                        6);
  code_meaning offsets{.symbols = 31, .max_log = 8, .predefined = {}};  // greater ones exceed 1 GiB
  for (unsigned i = 0; i < offsets.symbols; ++i) {
    offsets.base[i] = 1U << i;
    offsets.extra_bits[i] = static_cast<std::uint8_t>(i);
  }
  offsets.predefined = predefined_of<29>(
      {1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1}, 5);
  return {literals, offsets, matches};
}

const code_meaning& meaning_of(zstd_code code) {
  static const std::array<code_meaning, zstd_codes> meanings = make_meanings();
  return meanings[static_cast<std::size_t>(code)];
}

// Weights of literals (RFC 8878, 4.2.1): the length of the code of a symbol is the log of the tree + 1 - its weight.
struct weight_list {
  std::array<std::uint8_t, max_symbols> weights{};
  unsigned count = 0;
  std::size_t bytes = 0;  ///< of their description
};

struct weight_state {
  std::uint8_t symbol = 0;
  std::uint8_t next_bits = 0;
  std::uint16_t next = 0;
};

// Two states take turns. The one that reads beyond the front ends the list: the other one has the last weight.
std::optional<weight_list> read_coded_weights(std::span<const std::byte> bytes) {
  constexpr unsigned max_log = 6;
  constexpr unsigned most_weights = max_symbols - 1;
  const auto read = read_distribution(bytes, zstd_literal_table::log + 1, max_log);  // weights of 0 to 11
  if (!read || read->bytes >= bytes.size() || bytes.back() == std::byte{0}) return std::nullopt;
  std::array<weight_state, std::size_t{1} << max_log> table{};
  spread(*read, [&table](std::uint32_t state, std::uint8_t symbol, std::uint32_t next, unsigned bits) {
    table[state] = {
        .symbol = symbol, .next_bits = static_cast<std::uint8_t>(bits), .next = static_cast<std::uint16_t>(next)};
  });
  backward_bits bits(bytes.subspan(read->bytes));
  std::uint32_t now = bits.read(read->log);
  std::uint32_t other = bits.read(read->log);
  if (bits.is_exceeded()) return std::nullopt;
  weight_list list;
  for (;;) {
    if (list.count + 2 > most_weights) return std::nullopt;
    list.weights[list.count++] = table[now].symbol;
    const std::uint32_t next = table[now].next + bits.read(table[now].next_bits);
    if (bits.is_exceeded()) break;
    now = other;
    other = next;
  }
  list.weights[list.count++] = table[other].symbol;
  return list;
}

std::optional<weight_list> read_weights(std::span<const std::byte> bytes) {
  constexpr unsigned least_direct = 128;
  if (bytes.empty()) return std::nullopt;
  const auto header = std::to_integer<unsigned>(bytes[0]);
  const bool is_direct = header >= least_direct;
  const unsigned count = header - (least_direct - 1);
  const std::size_t size = is_direct ? (count + 1) / 2 : header;
  if (size > bytes.size() - 1) return std::nullopt;
  const auto content = bytes.subspan(1, size);
  std::optional<weight_list> list;
  if (is_direct) {
    list.emplace().count = count;
    for (unsigned i = 0; i < count; ++i) {
      const auto pair = std::to_integer<unsigned>(content[i / 2]);
      list->weights[i] = static_cast<std::uint8_t>(i % 2 == 0 ? pair >> 4U : pair & 15U);
    }
  } else {
    list = read_coded_weights(content);
  }
  if (list) list->bytes = 1 + size;
  return list;
}

}  // namespace

zstd_kept_descriptions::zstd_kept_descriptions(const zstd_descriptions& of_block) : each(of_block) {
  std::vector<std::byte> kept;
  std::size_t size = 0;
  for (const zstd_description& description : each) size += description.bytes.size();
  kept.reserve(size);
  for (zstd_description& description : each) {
    const std::size_t at = kept.size();
    kept.insert(kept.end(), description.bytes.begin(), description.bytes.end());
    description.bytes = std::span<const std::byte>(kept).subspan(at);
  }
  bytes = std::make_shared<const std::vector<std::byte>>(std::move(kept));
}

void zstd_known_tables::add(const zstd_kept_descriptions& of_block) {
  for (std::size_t i = 0; i < last_.size(); ++i) {
    if (of_block.each[i].is == zstd_description::kind::repeated) continue;
    last_[i] = of_block.each[i];
    bytes_[i] = of_block.bytes;
  }
}

std::span<const std::byte> tree_of(std::span<const std::byte> section) {
  const unsigned format = std::to_integer<unsigned>(section[0]) >> 2U & 3U;
  return section.subspan(std::max(format, 1U) + 2);
}

std::optional<std::size_t> build_literal_table(std::span<const std::byte> bytes, zstd_literal_table& table) {
  constexpr unsigned log = zstd_literal_table::log;
  auto list = read_weights(bytes);
  if (!list) return std::nullopt;
  std::array<std::uint32_t, log + 2> number{};  // of symbols with each weight
  std::uint32_t sum = 0;
  for (unsigned i = 0; i < list->count; ++i) {
    const unsigned weight = list->weights[i];
    if (weight > log) return std::nullopt;
    ++number[weight];
    sum += (1U << weight) >> 1U;
  }
  if (sum == 0) return std::nullopt;
  const auto tree_log = static_cast<unsigned>(std::bit_width(sum));
  const std::uint32_t rest = (1U << tree_log) - sum;
  if (tree_log > log || !std::has_single_bit(rest)) return std::nullopt;
  const auto last_weight = static_cast<unsigned>(std::bit_width(rest));
  list->weights[list->count++] = static_cast<std::uint8_t>(last_weight);
  ++number[last_weight];
  if (number[1] < 2 || number[1] % 2 != 0) return std::nullopt;
  const unsigned scale = log - tree_log;  // codes of shorter trees fill the same table
  std::array<std::uint32_t, log + 2> begin{};
  for (unsigned weight = 1; weight <= log; ++weight) {
    begin[weight + 1] = begin[weight] + (number[weight] << (weight - 1 + scale));
  }
  for (unsigned symbol = 0; symbol < list->count; ++symbol) {
    const unsigned weight = list->weights[symbol];
    if (weight == 0) continue;
    const std::uint32_t size = 1U << (weight - 1 + scale);
    std::fill_n(table.entries.begin() + begin[weight], size,
                static_cast<std::uint16_t>(symbol << 8U | (tree_log + 1 - weight)));
    begin[weight] += size;
  }
  return list->bytes;
}

std::optional<std::size_t> build_sequence_table(zstd_code code, zstd_description::kind is,
                                                std::span<const std::byte> bytes, zstd_sequence_table& table) {
  const code_meaning& meaning = meaning_of(code);
  if (is == zstd_description::kind::single) {
    if (bytes.empty()) return std::nullopt;
    const auto symbol = std::to_integer<unsigned>(bytes[0]);
    if (symbol >= meaning.symbols) return std::nullopt;
    table.log = 0;
    table.states[0] = {meaning.base[symbol], meaning.extra_bits[symbol]};
    return 1;
  }
  std::optional<distribution> read;
  if (is == zstd_description::kind::listed) {
    read = read_distribution(bytes, meaning.symbols, meaning.max_log);
    if (!read) return std::nullopt;
  }
  const distribution& chosen = read ? *read : meaning.predefined;
  table.log = chosen.log;
  spread(chosen, [&](std::uint32_t state, std::uint8_t symbol, std::uint32_t next, unsigned bits) {
    table.states[state] = {meaning.base[symbol], meaning.extra_bits[symbol], next, bits};
  });
  return chosen.bytes;
}

std::vector<std::byte> listed_distribution(zstd_code code, const zstd_description& of) {
  if (of.is == zstd_description::kind::listed) return {of.bytes.begin(), of.bytes.end()};
  if (of.is != zstd_description::kind::single) return write_distribution(meaning_of(code).predefined);
  distribution only{.log = 5};
  const auto symbol = std::to_integer<unsigned>(of.bytes[0]);
  only.symbols = symbol + 1;
  only.counts[symbol] = std::int16_t{1} << 5U;
  return write_distribution(only);
}

}  // namespace gpuhist::io
