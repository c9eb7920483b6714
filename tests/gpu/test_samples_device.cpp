// Histograms of samples on a device, compared with those on the host. test_samples_numpy.py --device compares random
// ones with NumPy.
#include "sample_case.hpp"
#include "support/device_arrays.hpp"

#include <doctest/doctest.h>
#include <gpuhist/device_samples.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <type_traits>
#include <utility>
#include <vector>

namespace gpuhist::test {
namespace {

using row = std::vector<std::uint64_t>;

std::vector<float> normal_samples(std::size_t count) {
  std::mt19937_64 random(3);  // NOLINT(cert-msc51-cpp): the same samples in every run
  std::normal_distribution<float> normal;
  std::vector<float> samples(count);
  for (float& each : samples) each = normal(random);
  return samples;
}

// A histogram with its memory on the device.
class device_run {
 public:
  explicit device_run(const device_histogram& histogram)
      : histogram_(histogram), workspace_(workspace_bytes(histogram)), rows_(histogram.values()) {
    require(prepare_workspace(histogram, workspace_.data(), nullptr));
    clear();
  }
  void clear() { rows_.clear(); }
  [[nodiscard]] cudaError_t count(const sample_view& samples, cudaStream_t stream = nullptr,
                                  const sample_view& y = {}) {
    return count_device_samples(histogram_, samples, rows_.data(), workspace_.data(), stream, y);
  }
  [[nodiscard]] cudaError_t sum(const sample_view& samples, const device_weights& weights) {
    return sum_device_samples(histogram_, samples, weights, reinterpret_cast<double*>(rows_.data()), workspace_.data(),
                              nullptr);
  }
  [[nodiscard]] row counts() const {
    row result(histogram_.values());
    rows_.copy_to(result.data(), result.size() * sizeof(std::uint64_t));
    return result;
  }

 private:
  const device_histogram& histogram_;
  device_array<std::byte> workspace_;
  device_array<unsigned long long> rows_;
};

row host_counts(const device_histogram& histogram, const sample_view& samples) {
  row rows(histogram.values());
  count_samples(histogram.bins, samples, rows);
  return rows;
}

// The same counts as on the host, from an odd first sample.
void check_counts(const sample_bins& bins, const std::vector<float>& samples, unsigned channels = 1) {
  CAPTURE(bins.bins());
  CAPTURE(channels);
  const device_histogram histogram{.bins = bins, .channels = channels};
  const device_array<float> memory(samples.data(), samples.size());
  device_run run(histogram);
  const std::uint64_t frames = (samples.size() - 1) / channels;
  require(run.count({.data = memory.data() + 1, .frames = frames, .channels = channels}));
  CHECK(run.counts() == host_counts(histogram, {.data = samples.data() + 1, .frames = frames, .channels = channels}));
}

// The type of the elements of an array.
template <class T>
constexpr sample_type type_of = std::is_same_v<T, float>    ? sample_type::float32
                                : std::is_same_v<T, double> ? sample_type::float64
                                                            : sample_type::int32;

// The pairs (samples[x_from + i], samples[y_from + i]).
template <class T>
void check_pairs(const sample_bins& x, const sample_bins& y, const std::vector<T>& samples, std::size_t x_from,
                 std::size_t y_from) {
  CAPTURE(x.bins());
  CAPTURE(y.bins());
  CAPTURE(x_from);
  CAPTURE(y_from);
  const std::uint64_t frames = samples.size() - std::max(x_from, y_from);
  const device_histogram histogram{.bins = x, .y_bins = &y};
  const device_array<T> memory(samples.data(), samples.size());
  device_run run(histogram);
  require(run.count({.data = memory.data() + x_from, .frames = frames}, nullptr,
                    {.data = memory.data() + y_from, .frames = frames}));
  row expected(histogram.values());
  count_joint({.x_bins = x,
               .x = {.data = samples.data() + x_from, .frames = frames},
               .y_bins = y,
               .y = {.data = samples.data() + y_from, .frames = frames}},
              expected, 4);
  CHECK(run.counts() == expected);
}

// Of arrays whose groups of four begin at the same sample, and of others.
template <class T>
void check_joint(std::uint32_t x_bins, std::uint32_t y_bins, const std::vector<T>& samples, double lower,
                 double upper) {
  const auto x = sample_bins::even(type_of<T>, x_bins, lower, upper);
  const auto y = sample_bins::even(type_of<T>, y_bins, lower, upper);
  check_pairs(x, y, samples, 0, 1000);
  check_pairs(x, y, samples, 3, 1007);
  check_pairs(x, y, samples, 2, 1003);
}

TEST_CASE("joint histograms with every placement of the counters give the counts of the host") {
  if (no_device()) return;
  auto samples = normal_samples(3'000'000);
  std::vector<std::int32_t> integers(samples.size());
  std::ranges::transform(samples, integers.begin(), [](float each) { return static_cast<int>(each * 1e6F); });
  for (std::size_t i = 7; i < samples.size(); i += 1000) samples[i] = NAN;
  for (const auto& [x, y] : {std::pair{4U, 5U}, {64U, 64U}, {300U, 100U}, {256U, 256U}, {400U, 500U}, {1024U, 1024U}})
    check_joint(x, y, samples, -1, 1);
  const std::vector<double> doubles(samples.begin(), samples.begin() + 1'500'000);
  check_joint(64, 60, doubles, -1, 1);
  check_joint(64, 64, integers, -2e6, 1e6);
  check_joint(256, 200, integers, -2e6, 1e6);
}

TEST_CASE("an axis of a joint histogram may have given edges") {
  if (no_device()) return;
  const auto samples = normal_samples(2'000'000);
  const auto even = sample_bins::even(sample_type::float32, 50, -1, 1);
  const auto uneven = sample_bins::edges(sample_type::float32, std::vector<double>{-1, -0.9, 0, 0.1, 2});
  check_pairs(even, uneven, samples, 0, 4000);
  check_pairs(uneven, even, samples, 0, 4000);
  check_pairs(uneven, uneven, samples, 1, 4001);
}

TEST_CASE("every placement of the counters gives the counts of the host") {
  if (no_device()) return;
  const auto samples = normal_samples(3'000'000);
  for (const std::uint32_t bins :
       {1U, 256U, 2048U, 5000U, 12000U, 25000U, 50000U, 65536U, 200'000U, 300'000U, 1U << 20U}) {
    check_counts(sample_bins::even(sample_type::float32, bins, -1, 1), samples);
    if (bins <= 65536) check_counts(sample_bins::even(sample_type::float32, bins, -2, 3), samples, 3);
  }
}

TEST_CASE("a sanitized sample: small histograms with every placement give the counts of the host") {
  if (no_device()) return;
  const auto samples = normal_samples(20'000);
  for (const std::uint32_t bins : {256U, 50000U, 65536U, 200'000U, 1U << 20U})
    check_counts(sample_bins::even(sample_type::float32, bins, -1, 1), samples);
  const std::vector<double> edges{-1, -0.9, 0, 0.1, 2};
  const auto uneven = sample_bins::edges(sample_type::float32, edges);
  check_counts(uneven, samples, 3);
  check_joint(64, 64, samples, -1, 1);
  const device_histogram histogram{.bins = uneven};
  const device_array<float> memory(samples.data(), samples.size());
  device_run run(histogram);
  require(run.sum({.data = memory.data(), .frames = samples.size()},
                  {.view = {.data = memory.data(), .type = weight_type::float32}}));
  CHECK(run.counts()[0] != 0);
}

TEST_CASE("one value in all samples gives the counts of the host") {
  if (no_device()) return;
  const std::vector<float> samples(5'000'000, 0.3F);
  for (const std::uint32_t bins : {256U, 50000U, 65536U, 200'000U, 1U << 20U}) {
    check_counts(sample_bins::even(sample_type::float32, bins, 0, 1), samples);
    if (bins < 200'000U) check_counts(sample_bins::even(sample_type::float32, bins, 0, 1), samples, 2);
  }
}

TEST_CASE("unequal edges give the counts of the host") {
  if (no_device()) return;
  const auto samples = normal_samples(1'000'000);
  for (const std::size_t bins : {10U, 256U, 5000U, 300'000U}) {
    std::vector<double> edges(bins + 1);
    for (std::size_t i = 0; i < edges.size(); ++i)
      edges[i] = std::pow(static_cast<double>(i) / static_cast<double>(bins), 3) - 0.5;
    check_counts(sample_bins::edges(sample_type::float32, edges), samples);
  }
}

TEST_CASE("sums of weights have the same bits in every run") {
  if (no_device()) return;
  const auto samples = normal_samples(2'000'000);
  const auto bins = sample_bins::even(sample_type::float32, 300, -1, 1);
  const device_histogram histogram{.bins = bins};
  const device_array<float> memory(samples.data(), samples.size());
  device_run run(histogram);
  row first;
  for (int i = 0; i < 3; ++i) {
    run.clear();
    require(run.sum({.data = memory.data(), .frames = samples.size()},
                    {.view = {.data = memory.data(), .type = weight_type::float32}}));
    if (i == 0) first = run.counts();
    CHECK(run.counts() == first);
  }
}

TEST_CASE("infinite weights and NaN affect only the sums of their bins") {
  if (no_device()) return;
  const std::vector<double> samples{0, 1, 2, 3, 3, 4, 5};
  const std::vector<double> weights{INFINITY, -INFINITY, NAN, INFINITY, -INFINITY, 8, -3};
  const auto even = sample_bins::even(sample_type::float64, 6, 0, 6);
  const device_histogram histogram{.bins = even};
  const device_array<double> memory(samples.data(), samples.size());
  const device_array<double> on_device(weights.data(), weights.size());
  device_run run(histogram);
  require(run.sum({.data = memory.data(), .frames = samples.size()}, {.view = {.data = on_device.data()}}));
  const auto rows = run.counts();
  const auto sum = [&](std::size_t bin) { return std::bit_cast<double>(rows[bin]); };
  CHECK(sum(0) == INFINITY);
  CHECK(sum(1) == -INFINITY);
  CHECK(std::isnan(sum(2)));
  CHECK(std::isnan(sum(3)));
  CHECK(sum(4) == 8);
  CHECK(sum(5) == -3);
}

TEST_CASE("a weight above the limit makes the sum of its bin NaN, and no other") {
  if (no_device()) return;
  const std::vector<double> samples{0, 1, 1};
  const std::vector<double> weights{-2, 1, 2.5};
  const auto bins = sample_bins::even(sample_type::float64, 2, 0, 2);
  const device_histogram histogram{.bins = bins};
  const device_array<double> memory(samples.data(), samples.size());
  const device_array<double> on_device(weights.data(), weights.size());
  device_run run(histogram);
  require(run.sum({.data = memory.data(), .frames = 3}, {.view = {.data = on_device.data()}, .limit = 2}));
  CHECK(std::bit_cast<double>(run.counts()[0]) == -2);
  CHECK(std::isnan(std::bit_cast<double>(run.counts()[1])));
}

TEST_CASE("five billion samples are counted") {
  if (no_device()) return;
  constexpr std::uint64_t size = 5'000'000'001;
  std::size_t free = 0;
  std::size_t total = 0;
  require(cudaMemGetInfo(&free, &total));
  if (free < size + (std::size_t{1} << 28U)) {
    std::printf("skipped: no CUDA device (with 5 GB of free memory)\n");
    return;
  }
  const device_array<std::uint8_t> memory(size);
  require(cudaMemset(memory.data(), 7, size));
  const auto bins = sample_bins::integers(sample_type::uint8, 8);
  const device_histogram histogram{.bins = bins};
  device_run run(histogram);
  require(run.count({.data = memory.data(), .frames = size}));
  CHECK(run.counts() == row{0, 0, 0, 0, 0, 0, 0, size, 0, 0, 0});
}

TEST_CASE("a graph counts the samples again each time it is launched") {
  if (no_device()) return;
  const auto samples = normal_samples(100'000);
  const auto bins = sample_bins::even(sample_type::float32, 100, -1, 1);
  const device_histogram histogram{.bins = bins};
  const device_array<float> memory(samples.data(), samples.size());
  device_run run(histogram);
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  require(cudaDeviceSynchronize());
  require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  require(run.count({.data = memory.data(), .frames = samples.size()}, stream));
  require(cudaStreamEndCapture(stream, &graph));
  require(cudaGraphInstantiate(&executable, graph, 0));
  for (int i = 0; i < 3; ++i) require(cudaGraphLaunch(executable, stream));
  require(cudaStreamSynchronize(stream));
  row expected = host_counts(histogram, {.data = samples.data(), .frames = samples.size()});
  for (std::uint64_t& each : expected) each *= 3;
  CHECK(run.counts() == expected);
  require(cudaGraphExecDestroy(executable));
  require(cudaGraphDestroy(graph));
  require(cudaStreamDestroy(stream));
}

TEST_CASE("arguments that do not fit together are refused without a device") {
  const auto bins = sample_bins::integers(sample_type::uint8, 4);
  const auto other = sample_bins::integers(sample_type::int8, 4);
  unsigned long long counter = 0;
  CHECK(workspace_bytes({.bins = bins, .channels = 5}) == 0);
  CHECK(workspace_bytes({.bins = bins, .y_bins = &other}) == 0);
  CHECK(workspace_bytes({.bins = bins}) > 0);
  CHECK(count_device_samples({.bins = bins}, {.data = nullptr, .frames = 1}, &counter, &counter, nullptr) ==
        cudaErrorInvalidValue);
  CHECK(count_device_samples({.bins = bins}, {.data = nullptr, .frames = 0}, nullptr, &counter, nullptr) ==
        cudaErrorInvalidValue);
  CHECK(count_device_samples({.bins = bins}, {.data = nullptr, .frames = 0}, &counter, &counter, nullptr) ==
        cudaSuccess);
}

TEST_CASE("the tuning is a function of the compute capability and the histogram") {
  const auto described = [](std::uint32_t bins, int major, bool weighted = false) {
    const auto made = sample_bins::integers(sample_type::uint32, bins);
    return describe_tuning({.bins = made}, weighted, major, major == 7 ? 5 : 0);
  };
  CHECK(described(256, 9) == "32 copies of the counters in shared memory, 32 KiB");
  CHECK(described(2048, 9) == "16 copies of the counters in shared memory, 128 KiB");
  CHECK(described(65536, 9) == "16-bit counters in shared memory, 128 KiB");
  CHECK(described(200'000, 9) == "16-bit counters in shared memory, 195 KiB, 2 passes");
  CHECK(described(1U << 20U, 9) == "counters in global memory");
  CHECK(described(65536, 7) == "16-bit counters in shared memory, 42 KiB, 3 passes");
  CHECK(described(1U << 20U, 7) == "counters in global memory");
  CHECK(described(65536, 9, true) == "counters in global memory");
}

}  // namespace
}  // namespace gpuhist::test
