// The timeline, compared with a sweep that keeps every interval.
#include "gpu/cuda/timeline.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace gpuhist::gpu::cuda {
namespace {

// Counts microseconds one by one.
device_timeline count_ticks(const std::vector<std::pair<interval, interval>>& jobs, std::size_t ticks) {
  std::vector<bool> copy(ticks);
  std::vector<bool> kernel(ticks);
  const auto mark = [](std::vector<bool>& on, interval when) {
    for (auto at = static_cast<std::size_t>(when.begin); at < static_cast<std::size_t>(when.end); ++at) on[at] = true;
  };
  for (const auto& [copied, counted] : jobs) {
    mark(copy, copied);
    mark(kernel, counted);
  }
  device_timeline result;
  for (std::size_t i = 0; i < ticks; ++i) {
    result.copy_busy_seconds += copy[i] ? 1 : 0;
    result.kernel_busy_seconds += kernel[i] ? 1 : 0;
    result.overlap_seconds += copy[i] && kernel[i] ? 1 : 0;
  }
  return result;
}

// Jobs of several lanes in the order of their reports: by the end of their kernels.
std::vector<std::pair<interval, interval>> random_jobs(unsigned lanes, unsigned each, std::uint32_t seed) {
  std::mt19937 generator(seed);
  const auto below = [&](unsigned limit) { return static_cast<double>(generator() % limit); };
  std::vector<std::pair<interval, interval>> jobs;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    double now = below(20);
    for (unsigned i = 0; i < each; ++i) {
      const double copied = now + 1 + below(30);
      const double counted = copied + 1 + below(10);
      jobs.push_back({{.begin = now, .end = copied}, {.begin = copied, .end = counted}});
      now = counted + below(15);
    }
  }
  std::ranges::sort(jobs, {}, [](const auto& job) { return job.second.end; });
  return jobs;
}

TEST_CASE("busy times and overlap are exact for jobs reported in the order in which they end") {
  for (const unsigned lanes : {1U, 2U, 3U, 8U}) {
    CAPTURE(lanes);
    const auto jobs = random_jobs(lanes, 500, lanes);
    timeline times;
    double kernels = 0;
    for (const auto& [copy, kernel] : jobs) {
      times.add(copy, kernel);
      kernels += kernel.end - kernel.begin;
    }
    const auto expected = count_ticks(jobs, 100'000);
    const auto found = times.read();
    CHECK(found.copy_busy_seconds == doctest::Approx(expected.copy_busy_seconds));
    CHECK(found.kernel_busy_seconds == doctest::Approx(expected.kernel_busy_seconds));
    CHECK(found.overlap_seconds == doctest::Approx(expected.overlap_seconds));
    CHECK(times.kernel_seconds() == doctest::Approx(kernels));
  }
}

TEST_CASE("a single lane never overlaps copies with kernels") {
  timeline times;
  for (const auto& [copy, kernel] : random_jobs(1, 300, 5)) times.add(copy, kernel);
  CHECK(times.read().overlap_seconds == doctest::Approx(0));
}

TEST_CASE("busy times are never too long, in any order of reports") {
  auto jobs = random_jobs(4, 500, 11);
  const auto expected = count_ticks(jobs, 100'000);
  std::ranges::shuffle(jobs, std::mt19937(3));
  timeline times;
  for (const auto& [copy, kernel] : jobs) times.add(copy, kernel);
  const auto found = times.read();
  CHECK(found.copy_busy_seconds <= expected.copy_busy_seconds);
  CHECK(found.kernel_busy_seconds <= expected.kernel_busy_seconds);
  CHECK(found.overlap_seconds <= std::min(found.copy_busy_seconds, found.kernel_busy_seconds));
}

TEST_CASE("without reports all times are zero") {
  const auto found = timeline().read();
  CHECK(found.span_seconds == 0);
  CHECK(found.copy_busy_seconds == 0);
  CHECK(found.kernel_busy_seconds == 0);
}

}  // namespace
}  // namespace gpuhist::gpu::cuda
