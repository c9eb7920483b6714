// What the decoders of literals and of sequences share: words of streams, and instructions of newer processors.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace gpuhist::io {

inline std::uint64_t word_at(const std::byte* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof(word));
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  return word;
}

inline unsigned number_at(std::span<const std::byte> bytes, std::size_t at) {
  return std::to_integer<unsigned>(bytes[at]);
}

#if defined(__x86_64__)
#define GPUHIST_WITH_BMI2 [[gnu::target("bmi,bmi2,lzcnt,sse4.1")]]
inline const bool has_bmi2 = __builtin_cpu_supports("sse4.1") && __builtin_cpu_supports("bmi") &&
                             __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("lzcnt");
#endif

}  // namespace gpuhist::io
