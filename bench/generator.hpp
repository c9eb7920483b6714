// Random numbers that are the same on every platform, unlike the distributions of std: generated inputs are
// reproducible.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gpuhist::bench {

/// SplitMix64 (Steele, Lea, Flood 2014). Any seed is good.
class generator {
 public:
  explicit generator(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }

  /// 0 to bound-1.
  std::uint32_t below(std::uint32_t bound) {
    return static_cast<std::uint32_t>(((next() >> 32U) * static_cast<std::uint64_t>(bound)) >> 32U);
  }

 private:
  std::uint64_t state_;
};

template <std::size_t N>
std::string_view pick(generator& random, const std::array<std::string_view, N>& from) {
  return from[random.below(N)];
}

}  // namespace gpuhist::bench
