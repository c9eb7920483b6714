// Compares 16 bytes at once: the scans of lines look for the next byte of a class. Internal.
#pragma once

#include <cstddef>
#include <cstdint>

#ifdef __SSE2__
#include <emmintrin.h>
#else
#include <array>
#include <cstring>
#endif

namespace gpuhist::report::lines {

/// 16 bytes of a text. The result of a comparison has one bit for each byte, the lowest for the first.
class byte_block {
 public:
  static constexpr std::size_t size = 16;

  /// Reads `size` bytes; no alignment is necessary.
  explicit byte_block(const char* from);

  [[nodiscard]] std::uint32_t equal_to(char value) const;

  /// Bytes from `first` to `last`, which are ASCII.
  [[nodiscard]] std::uint32_t in_range(char first, char last) const;

#ifdef __SSE2__

 private:
  static std::uint32_t bits_of(__m128i comparison) { return static_cast<std::uint32_t>(_mm_movemask_epi8(comparison)); }

  __m128i bytes_;
};

inline byte_block::byte_block(const char* from) : bytes_(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))) {}

inline std::uint32_t byte_block::equal_to(char value) const {
  return bits_of(_mm_cmpeq_epi8(bytes_, _mm_set1_epi8(value)));
}

// bytes from 0x80 on are negative and less than every ASCII character
inline std::uint32_t byte_block::in_range(char first, char last) const {
  const __m128i too_low = _mm_cmplt_epi8(bytes_, _mm_set1_epi8(first));
  const __m128i too_high = _mm_cmpgt_epi8(bytes_, _mm_set1_epi8(last));
  return ~bits_of(_mm_or_si128(too_low, too_high)) & 0xffffU;
}

#else

 private:
  template <class Test>
  std::uint32_t bits_where(Test test) const {
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < size; ++i) bits |= std::uint32_t{test(bytes_[i])} << i;
    return bits;
  }

  std::array<char, size> bytes_;
};

inline byte_block::byte_block(const char* from) { std::memcpy(bytes_.data(), from, size); }

inline std::uint32_t byte_block::equal_to(char value) const {
  return bits_where([=](char byte) { return byte == value; });
}

inline std::uint32_t byte_block::in_range(char first, char last) const {
  return bits_where([=](char byte) { return byte >= first && byte <= last; });
}

#endif

}  // namespace gpuhist::report::lines
