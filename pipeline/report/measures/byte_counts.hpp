// What every measure is a function of: how often each of the 256 byte values occurs.
#pragma once

#include <array>
#include <cstdint>
#include <limits>

namespace gpuhist::pipeline::measures {

/// One count a byte value. A plain value.
using byte_counts = std::array<std::uint64_t, 256>;

/// How many bytes they are, for people: 2^64 - 1 stands for that many and more.
inline std::uint64_t bytes_in(const byte_counts& counts) {
  std::uint64_t sum = 0;
  for (const std::uint64_t each : counts) {
    if (__builtin_add_overflow(sum, each, &sum)) return std::numeric_limits<std::uint64_t>::max();
  }
  return sum;
}

/// How many bytes they are, for formulas: no sum is too large, at the cost of the digits behind the sixteenth.
inline double size_of(const byte_counts& counts) {
  double sum = 0;
  for (const std::uint64_t each : counts) sum += static_cast<double>(each);
  return sum;
}

}  // namespace gpuhist::pipeline::measures
