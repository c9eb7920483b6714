#include "io/byte_entropy.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace gpuhist::io {
namespace {

// The probability that two bytes at different places are equal, multiplied by 256: 1 for random bytes. An estimate
// without bias, with a standard deviation of 23 / bytes for random bytes.
double repetition(std::span<const std::byte> bytes) {
  std::array<std::uint32_t, 256> counts{};
  for (const std::byte each : bytes) ++counts[std::to_integer<std::size_t>(each)];
  double equal = 0;
  for (const std::uint32_t count : counts) equal += static_cast<double>(count) * (static_cast<double>(count) - 1);
  const auto size = static_cast<double>(bytes.size());
  return static_cast<double>(counts.size()) * equal / (size * (size - 1));
}

}  // namespace

bool looks_compressed(std::span<const std::byte> head) {
  constexpr std::size_t least = std::size_t{4} << 10U;
  constexpr double most = 1.15;
  return head.size() >= least && looks_random(head) &&
         repetition(head.first(std::min(head.size(), sampled_bytes))) <= most;
}

bool looks_random(std::span<const std::byte> head) {
  constexpr std::size_t checked = std::size_t{1} << 10U;
  constexpr double most = 2;
  return head.size() >= checked && repetition(head.first(checked)) <= most;
}

}  // namespace gpuhist::io
