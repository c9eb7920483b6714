// Bytes of a text eight at once, in a word: comparisons that set the highest bit of each byte, and their number.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace gpuhist::report::texts {

inline constexpr std::uint64_t lowest_bits = 0x0101010101010101;
inline constexpr std::uint64_t highest_bits = lowest_bits << 7U;
inline constexpr std::size_t word_bytes = sizeof(std::uint64_t);

// The first byte of a text is the lowest of a word.
static_assert(std::endian::native == std::endian::little);

inline std::uint64_t word_at(std::string_view text, std::size_t at) {
  std::uint64_t word = 0;
  std::memcpy(&word, &text[at], word_bytes);
  return word;
}

/// Which bytes are from `first` to `last`. All bytes of the word are ASCII.
constexpr std::uint64_t in_range(std::uint64_t word, unsigned char first, unsigned char last) {
  constexpr unsigned char limit = 0x80;
  const std::uint64_t is_at_least = word + lowest_bits * static_cast<unsigned char>(limit - first);
  const std::uint64_t is_above = word + lowest_bits * static_cast<unsigned char>(limit - last - 1);
  return is_at_least & ~is_above & highest_bits;
}

/// The number of bytes whose highest bit is set, in many words.
class marked_bytes {
 public:
  void add(std::uint64_t marked) {
    sums_ += (marked & highest_bits) >> 7U;
    if (++words_ == max_words) settle();
  }

  [[nodiscard]] std::size_t number() {
    settle();
    return number_;
  }

 private:
  static constexpr unsigned max_words = 255;  // a sum has 8 bits

  void settle() {
    constexpr std::uint64_t even = 0x00ff00ff00ff00ff;
    const std::uint64_t pairs = (sums_ & even) + ((sums_ >> 8U) & even);
    number_ += (pairs * 0x0001000100010001) >> 48U;
    sums_ = 0;
    words_ = 0;
  }

  std::uint64_t sums_ = 0;  // by byte of the words
  unsigned words_ = 0;
  std::size_t number_ = 0;
};

}  // namespace gpuhist::report::texts
