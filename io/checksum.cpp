#include "io/checksum.hpp"

#define XXH_INLINE_ALL  // no library has to be linked
#include <xxhash.h>

#include <array>

namespace gpuhist::io {
namespace {

std::string digits_of(XXH128_hash_t hash) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const std::uint64_t half : {hash.high64, hash.low64}) {
    for (int shift = 60; shift >= 0; shift -= 4) text += digits[(half >> static_cast<unsigned>(shift)) & 0xfU];
  }
  return text;
}

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

std::uint64_t checksum_of(std::string_view bytes, std::uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

std::string hash_text(std::string_view bytes) { return digits_of(XXH3_128bits(bytes.data(), bytes.size())); }

struct running_hash::state {
  XXH3_state_t content;
};

running_hash::running_hash() : state_(std::make_unique<state>()) { XXH3_128bits_reset(&state_->content); }

running_hash::~running_hash() = default;

void running_hash::add(std::string_view bytes) { XXH3_128bits_update(&state_->content, bytes.data(), bytes.size()); }

std::string running_hash::text() const { return digits_of(XXH3_128bits_digest(&state_->content)); }

std::uint32_t combine_crc32(std::uint32_t first, std::uint32_t second, std::uint64_t second_bytes) {
  for (std::size_t i = 0; second_bytes != 0; ++i, second_bytes >>= 1U) {
    if ((second_bytes & 1U) != 0) first = multiply(powers[i], first);
  }
  return first ^ second;
}

}  // namespace gpuhist::io
