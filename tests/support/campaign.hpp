// How much of a large test is run. CAMPAIGN=sample: little, for CI; CAMPAIGN=all: everything, for tests labelled
// `long`; otherwise enough for every run of the tests. FUZZ_RUNS and FUZZ_SEED choose the number of runs and the random
// numbers of the fuzz tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace gpuhist::test {

inline std::string_view environment(const char* name) {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): no thread of a test changes it
  return value == nullptr ? std::string_view() : std::string_view(value);
}

enum class campaign { sample, usual, all };

inline campaign campaign_size() {
  const std::string_view size = environment("CAMPAIGN");
  return size == "sample" ? campaign::sample : size == "all" ? campaign::all : campaign::usual;
}

/// `usual`, or `in_sample` if only a sample is run.
template <typename T>
T unless_sampled(T usual, T in_sample) {
  return campaign_size() == campaign::sample ? in_sample : usual;
}

/// The number of runs of a fuzz test: FUZZ_RUNS, or `usual`; a tenth of that in a sample.
inline std::size_t fuzz_runs(std::size_t usual) {
  const std::string_view runs = environment("FUZZ_RUNS");
  if (!runs.empty()) return std::stoul(std::string(runs));
  return unless_sampled(usual, usual / 10);
}

/// `test`: a number of its own for each fuzz test.
inline std::uint32_t fuzz_seed(std::uint32_t test) {
  const std::string_view seed = environment("FUZZ_SEED");
  return seed.empty() ? test : test + 100 * static_cast<std::uint32_t>(std::stoul(std::string(seed)));
}

}  // namespace gpuhist::test
