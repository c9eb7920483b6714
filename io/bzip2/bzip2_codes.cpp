#include "io/bzip2/bzip2_codes.hpp"

#include <algorithm>

namespace gpuhist::io {

void bzip2_code::build(std::span<const std::uint8_t> lengths, unsigned table_bits) {
  std::array<std::uint16_t, bzip2_longest_code + 2> places{};
  shorter_ = {};
  for (const std::uint8_t length : lengths) ++shorter_[length + 1U];
  for (unsigned length = 1; length < shorter_.size(); ++length) {
    shorter_[length] = static_cast<std::uint16_t>(shorter_[length] + shorter_[length - 1]);
  }
  places = shorter_;
  for (std::size_t symbol = 0; symbol < lengths.size(); ++symbol) {
    symbols_[places[lengths[symbol]]++] = static_cast<std::uint16_t>(symbol);
  }
  constexpr std::uint32_t all = std::uint32_t{1} << bzip2_longest_code;
  std::uint32_t next = 0;
  for (unsigned length = 1; length <= bzip2_longest_code; ++length) {
    first_[length] = next;
    const unsigned number = shorter_[length + 1] - shorter_[length];
    next = std::min(all, next + (number << (bzip2_longest_code - length)));
  }
  first_[bzip2_longest_code + 1] = next;
  fill_tables(table_bits);
}

bzip2_word bzip2_code::long_word(std::uint64_t bits) const {
  const auto code = static_cast<std::uint32_t>(bits >> (64U - bzip2_longest_code));
  unsigned length = 1;
  while (length <= bzip2_longest_code && code >= first_[length + 1]) ++length;
  if (length > bzip2_longest_code) return {};
  const std::uint32_t place = shorter_[length] + ((code - first_[length]) >> (bzip2_longest_code - length));
  return bzip2_word::of(symbols_[place], length);
}

void bzip2_code::fill_tables(unsigned table_bits) {
  shift_ = 64U - table_bits;
  const std::size_t size = std::size_t{1} << table_bits;
  std::size_t at = 0;
  for (unsigned length = 1; length <= table_bits; ++length) {
    const std::size_t each = std::size_t{1} << (table_bits - length);
    for (unsigned place = shorter_[length]; place < shorter_[length + 1] && at < size; ++place, at += each) {
      std::fill_n(one_.begin() + static_cast<std::ptrdiff_t>(at), each, bzip2_word::of(symbols_[place], length));
    }
  }
  std::fill(one_.begin() + static_cast<std::ptrdiff_t>(at), one_.begin() + static_cast<std::ptrdiff_t>(size),
            bzip2_word());
  for (std::size_t i = 0; i < size; ++i) {
    bzip2_word word = one_[i];
    while (word.length() != 0 && word.length() < table_bits && word.symbol() == 0) {
      const bzip2_word next = one_[i << word.length() & (size - 1)];
      if (next.length() == 0 || word.length() + next.length() > table_bits) break;
      word = word.then(next);
    }
    several_[i] = word;
  }
}

}  // namespace gpuhist::io
