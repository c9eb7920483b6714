// Byte vectors for tests of decoders: joins them, makes them from literals, and damages them.
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

inline byte_vector vector_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// Damages `packed` at random in one of these ways: truncates it, removes a byte, overwrites one byte and flips a bit,
/// or only flips a bit. The last way is `ways` - 3 times as frequent as each of the others.
inline void damage(byte_vector& packed, std::mt19937& random, unsigned ways) {
  const auto position = [&] { return packed.begin() + static_cast<std::ptrdiff_t>(random() % packed.size()); };
  switch (random() % ways) {
    case 0:
      packed.erase(position(), packed.end());
      break;
    case 1:
      packed.erase(position());
      break;
    case 2:
      *position() = static_cast<std::byte>(random() & 0xFFU);
      [[fallthrough]];
    default:
      *position() ^= static_cast<std::byte>(1U << (random() % 8));
  }
}

}  // namespace gpuhist::test
