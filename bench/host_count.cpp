#include "bench/host_count.hpp"

#include "bench/schedule.hpp"
#include "config/scheme.hpp"

#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>

namespace gpuhist::bench {
namespace {

using gpu::cuda::kernels::count_of;
using gpu::cuda::kernels::max_bins;

constexpr int passes = 3;

std::array<std::uint64_t, max_bins> count_values(std::span<const std::uint8_t> bytes) {
  std::array<std::uint64_t, max_bins> counts{};
  for (const std::uint8_t each : bytes) ++counts[each];
  return counts;
}

bin_counts count_letters(std::span<const std::uint8_t> bytes) {
  bin_counts counts(count_of(bins::letters));
  std::uint64_t* const counters = counts.data();
  for (const std::uint8_t c : bytes) {
    if (c >= 'a' && c <= 'z') {
      ++counters[(c - 'a') / 4];
    } else {
      ++counters[7];
    }
  }
  return counts;
}

bin_counts count_bytes(std::span<const std::uint8_t> bytes) {
  bin_counts counts(count_of(bins::bytes));
  std::uint64_t* const counters = counts.data();
  for (const std::uint8_t c : bytes) ++counters[c];
  return counts;
}

double seconds_of_one_pass(std::span<const std::uint8_t> bytes, bins counted, const bin_counts& expected) {
  const auto begin = std::chrono::steady_clock::now();
  const bin_counts counts = sequential_count(bytes, counted);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  if (counts != expected)
    throw std::logic_error("the sequential loop counts " + std::string(name_of(counted)) + " wrongly");
  return taken.count();
}

}  // namespace

std::string_view name_of(bins counted) { return counted == bins::letters ? "letters" : "bytes"; }

bin_counts expected_counts(std::span<const std::uint8_t> pattern, std::uint64_t size, bins counted) {
  const auto whole = count_values(pattern);
  const auto rest = count_values(pattern.first(static_cast<std::size_t>(size % pattern.size())));
  const config::scheme scheme = config::find_scheme(name_of(counted));
  bin_counts counts(count_of(counted));
  for (std::size_t value = 0; value < max_bins; ++value) {
    counts[scheme.bucket_of[value]] += whole[value] * (size / pattern.size()) + rest[value];
  }
  return counts;
}

bin_counts sequential_count(std::span<const std::uint8_t> bytes, bins counted) {
  return counted == bins::letters ? count_letters(bytes) : count_bytes(bytes);
}

double sequential_rate(std::span<const std::uint8_t> bytes, bins counted) {
  const bin_counts expected = expected_counts(bytes, bytes.size(), counted);
  std::vector<double> seconds;
  for (int pass = 0; pass < passes; ++pass) seconds.push_back(seconds_of_one_pass(bytes, counted, expected));
  return static_cast<double>(bytes.size()) / median(seconds);
}

}  // namespace gpuhist::bench
