// The arithmetic of bit_sliced, run on the host: bit planes of 32 bytes, and the buckets of the letters.
#include "bench/kernels/letter_planes.hpp"
#include "tests/support/letter_buckets.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <random>

namespace gpuhist::bench::kernels {
namespace {

using test::bucket_by_name;

std::array<unsigned, 7> counted_by_planes(const std::array<std::uint8_t, 32>& bytes) {
  std::uint32_t words[8];
  std::memcpy(words, bytes.data(), sizeof words);
  const letter_masks found = letters_of(transpose(words));
  std::array<unsigned, 7> counts{};
  for (unsigned k = 0; k < 7; ++k) counts[k] = static_cast<unsigned>(std::popcount(found.mask[k]));
  return counts;
}

TEST_CASE("bit planes count every byte value in every position, next to every other value") {
  for (unsigned position = 0; position < 32; ++position) {
    for (unsigned byte = 0; byte < 256; ++byte) {
      for (const std::uint8_t others : {std::uint8_t{0}, std::uint8_t{255}, std::uint8_t{'z'}, std::uint8_t{'`'}}) {
        std::array<std::uint8_t, 32> bytes;
        bytes.fill(others);
        bytes[position] = static_cast<std::uint8_t>(byte);
        std::array<unsigned, 8> expected{};
        for (const std::uint8_t each : bytes) ++expected[bucket_by_name(each)];
        const auto counts = counted_by_planes(bytes);
        REQUIRE(std::equal(counts.begin(), counts.end(), expected.begin()));
      }
    }
  }
}

TEST_CASE("bit planes give the counts of the simple loop for random bytes") {
  std::mt19937 random(4);
  for (int round = 0; round < 20000; ++round) {
    std::array<std::uint8_t, 32> bytes;
    for (auto& each : bytes) each = static_cast<std::uint8_t>(round % 2 == 0 ? random() : 0x60U + random() % 32U);
    std::array<unsigned, 8> expected{};
    for (const std::uint8_t each : bytes) ++expected[bucket_by_name(each)];
    const auto counts = counted_by_planes(bytes);
    REQUIRE(std::equal(counts.begin(), counts.end(), expected.begin()));
  }
}

TEST_CASE("a plane holds one bit of each of 32 bytes, in the same order in all planes") {
  for (unsigned byte = 0; byte < 256; ++byte) {
    for (unsigned position = 0; position < 32; ++position) {
      std::array<std::uint8_t, 32> bytes{};
      bytes[position] = static_cast<std::uint8_t>(byte);
      std::uint32_t words[8];
      std::memcpy(words, bytes.data(), sizeof words);
      const bit_planes planes = transpose(words);
      std::uint32_t any = 0;
      for (const std::uint32_t plane : planes.plane) any |= plane;
      REQUIRE(std::popcount(any) == (byte == 0 ? 0 : 1));
      for (unsigned k = 0; k < 8; ++k) REQUIRE((planes.plane[k] != 0) == ((byte >> k & 1U) != 0));
    }
  }
}

}  // namespace
}  // namespace gpuhist::bench::kernels
