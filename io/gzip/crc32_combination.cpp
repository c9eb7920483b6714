#include "io/gzip/crc32_combination.hpp"

#include <array>

namespace gpuhist::io {
namespace {

constexpr std::uint32_t polynomial = 0xEDB88320;  // without x^32; the highest bit is the coefficient of x^0

constexpr std::uint32_t multiply(std::uint32_t left, std::uint32_t right) {
  std::uint32_t product = 0;
  for (std::uint32_t bit = 1U << 31U; bit != 0; bit >>= 1U) {
    if ((left & bit) != 0) product ^= right;
    right = (right & 1U) != 0 ? right >> 1U ^ polynomial : right >> 1U;  // times x
  }
  return product;
}

/// x^(8 * 2^i) for each i.
constexpr auto make_powers() {
  std::array<std::uint32_t, 64> powers{};
  powers[0] = 1U << 23U;
  for (std::size_t i = 1; i < powers.size(); ++i) powers[i] = multiply(powers[i - 1], powers[i - 1]);
  return powers;
}

constexpr auto powers = make_powers();

}  // namespace

std::uint32_t combine_crc32(std::uint32_t first, std::uint32_t second, std::uint64_t second_bytes) {
  for (std::size_t i = 0; second_bytes != 0; ++i, second_bytes >>= 1U) {
    if ((second_bytes & 1U) != 0) first = multiply(powers[i], first);
  }
  return first ^ second;
}

}  // namespace gpuhist::io
