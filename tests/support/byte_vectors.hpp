// Bytes for tests of decoders: put together, taken from literals, and damaged.
#pragma once

#include <cstddef>
#include <random>
#include <span>
#include <string_view>
#include <vector>

namespace gpuhist::test {

using byte_vector = std::vector<std::byte>;

inline byte_vector joined(byte_vector left, const byte_vector& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

inline byte_vector bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// Cuts the end off, takes a byte out, overwrites one and flips a bit, or flips a bit alone: the last `ways` - 3 times
/// as often as each of the others.
inline void damage(byte_vector& packed, std::mt19937& random, unsigned ways) {
  const auto place = [&] { return packed.begin() + static_cast<std::ptrdiff_t>(random() % packed.size()); };
  switch (random() % ways) {
    case 0:
      packed.erase(place(), packed.end());
      break;
    case 1:
      packed.erase(place());
      break;
    case 2:
      *place() = static_cast<std::byte>(random() & 0xFFU);
      [[fallthrough]];
    default:
      *place() ^= static_cast<std::byte>(1U << (random() % 8));
  }
}

}  // namespace gpuhist::test
