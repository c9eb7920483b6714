// bits of a header:  last (1) | kind (2) | of kind 2: lengths of the literal code - 257 (5) | of the distance code - 1
// (5) |
//                    lengths of the code of lengths - 4 (4) | those lengths (3 each) | coded lengths of both codes
#include "io/archive/deflate_block.hpp"

#include <algorithm>
#include <array>

namespace gpuhist::io {
namespace {

constexpr unsigned longest_code = 15;

// Reads bits, the lowest of each byte first. Beyond the end it reads zeros, and has_failed() is true.
class bit_reader {
 public:
  bit_reader(std::span<const std::byte> bytes, std::uint64_t at_bit) : bytes_(bytes), at_(at_bit) {}

  unsigned take(unsigned count) {
    unsigned value = 0;
    for (unsigned i = 0; i < count; ++i, ++at_) {
      const std::uint64_t byte = at_ / 8;
      if (byte >= bytes_.size()) continue;
      value |= (std::to_integer<unsigned>(bytes_[static_cast<std::size_t>(byte)]) >> (at_ % 8) & 1U) << i;
    }
    return value;
  }

  [[nodiscard]] bool has_failed() const { return at_ > std::uint64_t{8} * bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
  std::uint64_t at_;
};

// The lengths of the code words of one code; 0: the symbol has none.
using code_lengths = std::span<const std::uint8_t>;

// What is missing from the sum of 2^-length over all code words to 1, in units of 2^-15; negative: the words collide.
int missing_of(code_lengths lengths) {
  int missing = 1 << longest_code;
  for (const std::uint8_t each : lengths) {
    if (each > 0) missing -= 1 << (longest_code - each);
  }
  return missing;
}

bool is_complete(code_lengths lengths) { return missing_of(lengths) == 0; }

bool has_at_most_one_bit(code_lengths lengths) {
  return std::ranges::count(lengths, 0) + 1 >= std::ranges::ssize(lengths) && std::ranges::max(lengths) <= 1;
}

// A complete prefix code of at most 19 symbols, decoded bit by bit: it codes some 300 symbols of a block.
class length_code {
 public:
  explicit length_code(code_lengths lengths) {
    for (const std::uint8_t each : lengths) ++count_[each];
    count_[0] = 0;
    std::array<std::size_t, longest_code + 2> next{};
    for (std::size_t i = 1; i <= longest_code; ++i) next[i + 1] = next[i] + count_[i];
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      if (lengths[i] > 0) symbols_[next[lengths[i]]++] = static_cast<unsigned>(i);
    }
  }

  // Code words of one length are consecutive numbers; `first` is the first one of the length.
  unsigned take(bit_reader& from) const {
    unsigned word = 0;
    unsigned first = 0;
    std::size_t before = 0;  // symbols with shorter words
    for (std::size_t length = 1; length <= longest_code; ++length) {
      word |= from.take(1);
      if (word < first + count_[length]) return symbols_[before + word - first];
      before += count_[length];
      first = (first + count_[length]) << 1U;
      word <<= 1U;
    }
    return 0;  // a complete code has no such word
  }

 private:
  std::array<unsigned, longest_code + 1> count_{};
  std::array<unsigned, 19> symbols_{};
};

bool has_valid_codes(bit_reader& from) {
  constexpr std::size_t most_literals = 286;
  constexpr std::size_t most_distances = 30;
  constexpr std::size_t end_of_block = 256;
  const std::size_t literals = 257 + from.take(5);
  const std::size_t distances = 1 + from.take(5);
  const std::size_t coded = 4 + from.take(4);
  if (literals > most_literals || distances > most_distances) return false;
  constexpr std::array<std::size_t, 19> order{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
  std::array<std::uint8_t, 19> of_lengths{};
  for (std::size_t i = 0; i < coded; ++i) of_lengths[order[i]] = static_cast<std::uint8_t>(from.take(3));
  if (!is_complete(of_lengths)) return false;
  const length_code code(of_lengths);
  std::array<std::uint8_t, most_literals + most_distances> lengths{};
  const std::size_t all = literals + distances;
  for (std::size_t i = 0; i < all;) {
    const unsigned symbol = code.take(from);
    if (symbol <= longest_code) {
      lengths[i++] = static_cast<std::uint8_t>(symbol);
      continue;
    }
    if (symbol == 16 && i == 0) return false;
    const std::uint8_t repeated = symbol == 16 ? lengths[i - 1] : std::uint8_t{0};
    const std::size_t times = symbol == 16 ? 3 + from.take(2) : symbol == 17 ? 3 + from.take(3) : 11 + from.take(7);
    if (times > all - i) return false;
    std::fill_n(lengths.begin() + static_cast<std::ptrdiff_t>(i), times, repeated);
    i += times;
  }
  const code_lengths of_literals = code_lengths(lengths).first(literals);
  const code_lengths of_distances = code_lengths(lengths).subspan(literals, distances);
  return of_literals[end_of_block] > 0 && is_complete(of_literals) &&
         (is_complete(of_distances) || has_at_most_one_bit(of_distances));
}

}  // namespace

std::optional<bool> is_last_deflate_block(std::span<const std::byte> packed, std::uint64_t at_bit) {
  bit_reader from(packed, at_bit);
  const bool last = from.take(1) != 0;
  const unsigned kind = from.take(2);
  constexpr unsigned with_own_codes = 2;
  constexpr unsigned reserved = 3;
  if (kind == reserved || (kind == with_own_codes && !has_valid_codes(from)) || from.has_failed()) return std::nullopt;
  return last;
}

}  // namespace gpuhist::io
