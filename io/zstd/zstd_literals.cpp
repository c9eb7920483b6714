#include "io/zstd/zstd_literals.hpp"

#include "io/zstd/zstd_words.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace gpuhist::io {
namespace {

/// Bits from back to front. The next bits are the highest ones of `bits`. Below them is a one, and then zeros: their
/// number is that of the bits that were taken since the last refill.
struct literal_stream {
  std::uint64_t bits = 0;
  const std::byte* at = nullptr;  // of the word in `bits`
  const std::byte* begin = nullptr;

  /// False: there is no end mark.
  bool open(std::span<const std::byte> bytes) {
    if (bytes.empty() || bytes.back() == std::byte{0}) return false;
    begin = bytes.data();
    at = bytes.data() + bytes.size() - sizeof(bits);
    bits = (word_at(at) | 1U) << (std::countl_zero(std::to_integer<std::uint8_t>(bytes.back())) + 1);
    return true;
  }

  [[gnu::always_inline]] void refill() {
    const auto taken = static_cast<unsigned>(std::countr_zero(bits));
    at -= taken / 8;
    bits = (word_at(at) | 1U) << (taken % 8);
  }

  /// How often a word can be taken from the stream.
  [[nodiscard]] std::size_t words() const {
    constexpr unsigned most_bytes = 7;  // that are taken of a word
    return static_cast<std::size_t>(std::max<std::ptrdiff_t>(at - begin, 0)) / most_bytes;
  }

  /// More bits were taken than there are.
  [[nodiscard]] bool is_in_front() const { return at + sizeof(bits) < begin; }
  [[nodiscard]] bool is_at_end() const { return 8 * (at + sizeof(bits) - begin) == std::countr_zero(bits); }
};

using four_streams = std::array<literal_stream, 4>;

/// Where the literals of a stream are to be written.
struct literal_room {
  std::byte* next = nullptr;
  std::byte* end = nullptr;

  [[nodiscard]] std::size_t left() const { return static_cast<std::size_t>(end - next); }
};

using four_rooms = std::array<literal_room, 4>;

/// Takes one code of 11 bits or less.
struct single_symbols {
  static constexpr unsigned of_word = 5;  // codes: with less than 8 bits before them they fit into a word
  static constexpr unsigned most_symbols = 1;

  const std::uint16_t* table = nullptr;

  [[gnu::always_inline]] void take(literal_stream& from, std::byte*& to) const {
    const std::uint32_t entry = table[from.bits >> (64 - zstd_literal_table::log)];
    from.bits <<= entry & 63U;
    *to++ = static_cast<std::byte>(entry >> 8U);
  }
};

/// Takes one or two codes of 12 bits or less together.
struct symbol_pairs {
  static constexpr unsigned of_word = 4;
  static constexpr unsigned most_symbols = 2;

  const std::uint32_t* table = nullptr;

  [[gnu::always_inline]] void take(literal_stream& from, std::byte*& to) const {
    const std::uint32_t entry = table[from.bits >> (64 - zstd_pair_table::log)];
    from.bits <<= entry & 63U;
    to[0] = static_cast<std::byte>(entry >> 16U);
    to[1] = static_cast<std::byte>(entry >> 24U);
    to += entry >> 8U & 3U;
  }
};

/// Words for which there is room whatever they hold.
template <class Symbols>
std::size_t safe_words(const literal_stream& from, const literal_room& to) {
  return std::min(from.words(), to.left() / (std::size_t{Symbols::of_word} * Symbols::most_symbols));
}

bool decode_rest(literal_stream& from, const single_symbols& symbols, literal_room to) {
  while (to.next < to.end) {
    from.refill();
    if (from.is_in_front()) return false;
    symbols.take(from, to.next);
  }
  return from.is_at_end();
}

template <class Symbols>
[[gnu::always_inline]] inline void decode_one(literal_stream& stream, const Symbols& symbols, literal_room& room) {
  literal_stream from = stream;  // copies, which stay in registers
  literal_room to = room;
  while (safe_words<Symbols>(from, to) > 0) {
    from.refill();
    for (unsigned i = 0; i < Symbols::of_word; ++i) symbols.take(from, to.next);
  }
  stream = from;
  room = to;
}

/// Up to where one of the streams has no words left, or no room.
template <class Symbols>
[[gnu::always_inline]] inline void decode_four(four_streams& streams, const Symbols& symbols, four_rooms& rooms) {
  auto [a, b, c, d] = streams;  // copies, which stay in registers
  auto [to_a, to_b, to_c, to_d] = rooms;
  for (;;) {
    const std::size_t words = std::min({safe_words<Symbols>(a, to_a), safe_words<Symbols>(b, to_b),
                                        safe_words<Symbols>(c, to_c), safe_words<Symbols>(d, to_d)});
    if (words == 0) break;
    for (std::size_t left = words; left > 0; --left) {
      a.refill();
      b.refill();
      c.refill();
      d.refill();
#pragma GCC unroll 5
      for (unsigned i = 0; i < Symbols::of_word; ++i) {
        symbols.take(a, to_a.next);
        symbols.take(b, to_b.next);
        symbols.take(c, to_c.next);
        symbols.take(d, to_d.next);
      }
    }
  }
  streams = {a, b, c, d};
  rooms = {to_a, to_b, to_c, to_d};
}

#if defined(__x86_64__)
GPUHIST_WITH_BMI2 void decode_singles_bmi2(four_streams& streams, const single_symbols& symbols, four_rooms& rooms) {
  decode_four(streams, symbols, rooms);
}
GPUHIST_WITH_BMI2 void decode_pairs_bmi2(four_streams& streams, const symbol_pairs& symbols, four_rooms& rooms) {
  decode_four(streams, symbols, rooms);
}
#endif

void decode_here(four_streams& streams, const single_symbols& symbols, four_rooms& rooms) {
#if defined(__x86_64__)
  if (has_bmi2) return decode_singles_bmi2(streams, symbols, rooms);
#endif
  decode_four(streams, symbols, rooms);
}

void decode_here(four_streams& streams, const symbol_pairs& symbols, four_rooms& rooms) {
#if defined(__x86_64__)
  if (has_bmi2) return decode_pairs_bmi2(streams, symbols, rooms);
#endif
  decode_four(streams, symbols, rooms);
}

}  // namespace

std::optional<std::size_t> zstd_literal_decoder::build(std::span<const std::byte> description) {
  has_pairs_ = false;
  return build_literal_table(description, table_);
}

bool zstd_literal_decoder::decode(std::span<const std::byte> streams, bool is_single, std::byte* to,
                                  std::size_t count) {
  constexpr std::size_t sizes_bytes = 6;
  constexpr std::size_t least_of_four = 6;  // literals, for libzstd
  const single_symbols singles{table_.entries.data()};
  if (is_single) {
    literal_stream stream;
    literal_room room{to, to + count};
    if (!stream.open(streams)) return false;
    decode_one(stream, singles, room);
    return decode_rest(stream, singles, room);
  }
  const std::size_t each = (count + 3) / 4;
  if (count < least_of_four || streams.size() < sizes_bytes || 3 * each > count) return false;
  four_streams four;
  four_rooms rooms;
  std::span<const std::byte> rest = streams.subspan(sizes_bytes);
  for (std::size_t i = 0; i < four.size(); ++i) {
    const std::size_t size =
        i == 3 ? rest.size() : number_at(streams, 2 * i) | std::size_t{number_at(streams, 2 * i + 1)} << 8U;
    if (size > rest.size() || !four[i].open(rest.first(size))) return false;
    rooms[i] = {to + i * each, i == 3 ? to + count : to + (i + 1) * each};
    rest = rest.subspan(size);
  }
  if (is_faster_in_pairs(streams.size(), count)) {
    if (!has_pairs_) build_pairs();
    const symbol_pairs pairs{pairs_.entries.data()};
    decode_here(four, pairs, rooms);
    for (std::size_t i = 0; i < four.size(); ++i) decode_one(four[i], pairs, rooms[i]);
  } else {
    decode_here(four, singles, rooms);
  }
  for (std::size_t i = 0; i < four.size(); ++i) {
    if (!decode_rest(four[i], singles, rooms[i])) return false;
  }
  return true;
}

// A table of pairs takes as long as 10,000 literals.
bool zstd_literal_decoder::is_faster_in_pairs(std::size_t coded_bytes, std::size_t count) const {
  constexpr std::size_t least_count = 32'768;
  const bool are_short = 8 * coded_bytes <= 6 * count + count / 4;
  return are_short && (has_pairs_ || count >= least_count);
}

void zstd_literal_decoder::build_pairs() {
  constexpr unsigned log = zstd_pair_table::log;
  constexpr unsigned beyond = log - zstd_literal_table::log;
  constexpr std::uint32_t mask = (1U << log) - 1;
  for (std::uint32_t i = 0; i <= mask; ++i) {
    const std::uint32_t first = table_.entries[i >> beyond];
    const std::uint32_t first_bits = first & 0xFFU;
    const std::uint32_t second = table_.entries[(i << first_bits & mask) >> beyond];
    const std::uint32_t both_bits = first_bits + (second & 0xFFU);
    const std::uint32_t one = (first & 0xFF00U) << 8U | 1U << 8U | first_bits;
    const std::uint32_t two = (second & 0xFF00U) << 16U | (first & 0xFF00U) << 8U | 2U << 8U | both_bits;
    pairs_.entries[i] = both_bits <= log ? two : one;
  }
  has_pairs_ = true;
}

}  // namespace gpuhist::io
