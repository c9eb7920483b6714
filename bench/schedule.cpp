#include "bench/schedule.hpp"

#include <algorithm>

namespace gpuhist::bench {

double median(std::vector<double> values) {
  const std::size_t upper = values.size() / 2;
  std::ranges::sort(values);
  return values.size() % 2 == 1 ? values[upper] : (values[upper - 1] + values[upper]) / 2;
}

std::uint64_t buffer_stride(std::uint64_t size) {
  constexpr std::uint64_t alignment = 256;
  return (size + alignment - 1) / alignment * alignment;
}

std::size_t buffers_in_turn(std::uint64_t size, std::uint64_t cache_bytes, std::uint64_t available) {
  const std::uint64_t stride = buffer_stride(size);
  const std::uint64_t wanted = std::max<std::uint64_t>(2, (8 * cache_bytes + stride - 1) / stride);
  return static_cast<std::size_t>(std::min(wanted, available / stride));
}

unsigned repetitions_within(double budget, double seconds_of_one, unsigned requested) {
  const double fitting = budget / seconds_of_one;
  if (fitting >= static_cast<double>(requested)) return requested;
  return std::max(1U, static_cast<unsigned>(fitting));
}

bool takes_part(unsigned round, unsigned repetitions, unsigned rounds) {
  return (round + 1) * repetitions / rounds > round * repetitions / rounds;
}

}  // namespace gpuhist::bench
