#include "bench/vector_sum.hpp"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/vector_sum.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gpuhist::bench {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using lanes = hn::ScalableTag<std::uint64_t>;

std::uint64_t sum(std::span<const std::byte> bytes) {
  const std::size_t width = hn::Lanes(lanes());
  const auto* const words = reinterpret_cast<const std::uint64_t*>(bytes.data());
  const std::size_t count = bytes.size() / sizeof(std::uint64_t);
  hn::Vec<lanes> sums[4] = {hn::Zero(lanes()), hn::Zero(lanes()), hn::Zero(lanes()), hn::Zero(lanes())};
  std::size_t at = 0;
  for (; at + 4 * width <= count; at += 4 * width) {  // four sums, so that no addition waits for the previous one
    for (std::size_t i = 0; i < 4; ++i) sums[i] = hn::Add(sums[i], hn::LoadU(lanes(), words + at + i * width));
  }
  const auto both = hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3]));
  std::uint64_t total = hn::GetLane(hn::SumOfLanes(lanes(), both));
  for (; at < count; ++at) {
    std::uint64_t word = 0;
    std::memcpy(&word, words + at, sizeof word);
    total += word;
  }
  return total;
}

}  // namespace HWY_NAMESPACE
}  // namespace gpuhist::bench
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gpuhist::bench {
namespace {
HWY_EXPORT(sum);
}  // namespace

std::uint64_t vector_sum(std::span<const std::byte> bytes) { return HWY_DYNAMIC_DISPATCH(sum)(bytes); }

}  // namespace gpuhist::bench
#endif  // HWY_ONCE
