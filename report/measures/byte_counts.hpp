// How often each of the 256 byte values occurs: the argument of every measure.
#pragma once

#include <array>
#include <cstdint>
#include <limits>

namespace gpuhist::pipeline::measures {

/// One count per byte value. A plain value.
using byte_counts = std::array<std::uint64_t, 256>;

/// The number of bytes, for people: at most 2^64 - 1.
inline std::uint64_t bytes_in(const byte_counts& counts) {
  std::uint64_t sum = 0;
  for (const std::uint64_t each : counts) {
    if (__builtin_add_overflow(sum, each, &sum)) return std::numeric_limits<std::uint64_t>::max();
  }
  return sum;
}

/// The number of bytes, for formulas: no sum overflows, but only about 16 digits are exact.
inline double size_of(const byte_counts& counts) {
  double sum = 0;
  for (const std::uint64_t each : counts) sum += static_cast<double>(each);
  return sum;
}

}  // namespace gpuhist::pipeline::measures
