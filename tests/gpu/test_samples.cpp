// Histograms of samples on the host. test_samples_numpy.py compares random ones with NumPy.
#include "gpu/host/process_limits.hpp"
#include "gpuhist/errors.hpp"
#include "gpuhist/samples.hpp"
#include "samples/frame_ranges.hpp"
#include "samples/slots.hpp"
#include "samples/tables.hpp"

#include <doctest/doctest.h>
#include <hwy/highway.h>
#include <hwy/targets.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <type_traits>
#include <vector>

namespace gpuhist {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

template <class T>
std::vector<std::uint64_t> counted(const sample_bins& bins, const std::vector<T>& samples, unsigned channels = 1,
                                   unsigned threads = 1) {
  std::vector<std::uint64_t> rows(channels * bins.row_size());
  count_samples(bins, {.data = samples.data(), .frames = samples.size() / channels, .channels = channels}, rows,
                threads);
  return rows;
}

template <class Call>
bool refused(const Call& call) {
  try {
    call();
  } catch (const error& thrown) {
    return thrown.kind() == errc::invalid_argument;
  }
  return false;
}

using row = std::vector<std::uint64_t>;

TEST_CASE("a bin has its lower edge, and the last bin also its upper edge") {
  const auto bins = sample_bins::even(sample_type::float64, 4, 0, 1);
  CHECK(counted(bins, std::vector<double>{0, 0.25, 0.5, 0.75, 1}) == row{1, 1, 1, 2, 0, 0, 0});
}

TEST_CASE("samples outside the bins and NaN are counted apart") {
  const std::vector<float> samples{-1, -0.0F, 2, 5, INFINITY, -INFINITY, NAN, -NAN};
  const std::vector<double> edges{0, 1, 2};
  for (const auto& bins :
       {sample_bins::even(sample_type::float32, 2, 0, 2), sample_bins::edges(sample_type::float32, edges)})
    CHECK(counted(bins, samples) == row{1, 1, 2, 2, 2});
}

TEST_CASE("infinite edges have bins that contain infinity") {
  const std::vector<double> edges{-infinity, 0, infinity};
  const auto bins = sample_bins::edges(sample_type::float64, edges);
  CHECK(counted(bins, std::vector<double>{-infinity, -1, 0, infinity, NAN}) == row{2, 2, 0, 0, 1});
}

TEST_CASE("no samples and one sample") {
  const auto bins = sample_bins::even(sample_type::int32, 3, 0, 3);
  CHECK(counted(bins, std::vector<std::int32_t>{}) == row(6));
  CHECK(counted(bins, std::vector<std::int32_t>{1}) == row{0, 1, 0, 0, 0, 0});
}

TEST_CASE("integer bins count the smallest and the largest integer of a type outside") {
  using limits = std::numeric_limits<std::int64_t>;
  const auto bins = sample_bins::integers(sample_type::int64, 3);
  CHECK(counted(bins, std::vector<std::int64_t>{limits::min(), -1, 0, 2, 2, 3, limits::max()}) ==
        row{1, 0, 2, 2, 2, 0});
}

TEST_CASE("bins over all integers of a type have no sample outside") {
  const auto bins = sample_bins::even(sample_type::int32, 2, -2147483648.0, 2147483647.0);
  const std::vector<std::int32_t> samples{std::numeric_limits<std::int32_t>::min(), -1, 0,
                                          std::numeric_limits<std::int32_t>::max()};
  CHECK(counted(bins, samples) == row{2, 2, 0, 0, 0});
}

TEST_CASE("2^20 bins count each integer once") {
  const auto bins = sample_bins::integers(sample_type::uint32, sample_bins::max_bins);
  std::vector<std::uint32_t> samples(sample_bins::max_bins);
  for (std::uint32_t i = 0; i < samples.size(); ++i) samples[i] = i;
  row expected(bins.row_size(), 1);
  for (std::size_t i = 0; i < 3; ++i) expected[bins.bins() + i] = 0;
  CHECK(counted(bins, samples) == expected);
}

TEST_CASE("every channel has its own row") {
  const auto bins = sample_bins::integers(sample_type::uint8, 2);
  const std::vector<std::uint8_t> samples{0, 1, 9, 0, 0, 9};
  CHECK(counted(bins, samples, 3) == row{2, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 2, 0});
}

TEST_CASE("bfloat16 samples are binned as the same values in float32") {
  const auto bins = sample_bins::even(sample_type::bfloat16, 2, 0, 2);
  const std::vector<std::uint16_t> samples{0x3f80, 0x3f7f, 0xbf80, 0x7fc0};  // 1, the number before, -1, NaN
  CHECK(counted(bins, samples) == row{1, 1, 1, 0, 1});
}

TEST_CASE("counts are added to those in the output") {
  const auto bins = sample_bins::integers(sample_type::uint8, 1);
  const std::uint8_t zero = 0;
  row rows{5, 6, 7, 8};
  count_samples(bins, {.data = &zero, .frames = 1}, rows);
  CHECK(rows == row{6, 6, 7, 8});
}

struct normal_samples {
  std::vector<float> values;
  std::vector<double> weights;

  explicit normal_samples(std::size_t count) : values(count), weights(count) {
    std::mt19937_64 random(1);  // NOLINT(cert-msc51-cpp): the same samples in every run
    std::normal_distribution<float> normal;
    for (float& each : values) each = normal(random);
    for (double& each : weights) each = static_cast<double>(normal(random));
  }
};

TEST_CASE("counts do not depend on the number of threads") {
  const normal_samples samples(500'000);
  const auto bins = sample_bins::even(sample_type::float32, 100, -2, 2);
  for (const unsigned threads : {0U, 7U}) {
    CHECK(counted(bins, samples.values, 1, threads) == counted(bins, samples.values));
  }
}

TEST_CASE("without a number of threads there are as many as cores, and no more than ranges") {
  using gpu::samples::threads_for;
  const unsigned cores = gpu::host::available_cores();
  CHECK(threads_for(1000, 0) == cores);
  CHECK(threads_for(1, 0) == 1);
  CHECK(threads_for(0, 5) == 1);
  CHECK(threads_for(3, 5) == 3);
  CHECK(threads_for(1000, 5) == 5);
}

TEST_CASE("sums of weights have the same bits for every number of threads") {
  const normal_samples samples(500'000);
  const auto bins = sample_bins::even(sample_type::float32, 10, -2, 2);
  const auto sums = [&](unsigned threads) {
    std::vector<double> result(bins.row_size());
    sum_samples(bins, {.data = samples.values.data(), .frames = samples.values.size()},
                {.data = samples.weights.data()}, result, threads);
    return result;
  };
  const auto one = sums(1);
  for (const unsigned threads : {0U, 2U, 3U, 8U}) CHECK(sums(threads) == one);
  CHECK(one[0] != 0);
}

TEST_CASE("the values after the bins of a weighted row are counts of samples") {
  const auto bins = sample_bins::even(sample_type::float64, 1, 0, 1);
  const std::array<double, 4> samples{-1, 0.5, 3, NAN};
  const std::array<double, 4> weights{10, 20, 30, 40};
  std::vector<double> sums(4);
  sum_samples(bins, {.data = samples.data(), .frames = 4}, {.data = weights.data()}, sums);
  CHECK(sums == std::vector<double>{20, 1, 1, 1});
}

TEST_CASE("pairs with NaN are not counted as outside") {
  const auto bins = sample_bins::even(sample_type::float64, 1, 0, 1, even_rule::linspace);
  const std::array<double, 4> x{0, 2, NAN, 1};
  const std::array<double, 4> y{0, 0, 2, 1};
  row counts(3);
  count_joint(
      {.x_bins = bins, .x = {.data = x.data(), .frames = 4}, .y_bins = bins, .y = {.data = y.data(), .frames = 4}},
      counts);
  CHECK(counts == row{2, 1, 1});
}

TEST_CASE("bins that NumPy refuses are refused") {
  using enum sample_type;
  const auto even = [](double lower, double upper) {
    return refused([&] { sample_bins::even(float32, 9, lower, upper); });
  };
  CHECK(even(1, 0));
  CHECK(even(NAN, 1));
  CHECK(even(0, infinity));
  CHECK(even(1, 1.0000001));
  CHECK_FALSE(even(1, 1));
  CHECK(refused([] { sample_bins::even(float32, 0, 0, 1); }));
  CHECK(refused([] { sample_bins::even(float32, sample_bins::max_bins + 1, 0, 1); }));
  CHECK(refused([] { sample_bins::integers(float16, 5); }));
  const auto edges = [](std::vector<double> given) { return refused([&] { sample_bins::edges(int8, given); }); };
  CHECK(edges({}));
  CHECK(edges({1}));
  CHECK(edges({1, 0}));
  CHECK(edges({0, NAN}));
  CHECK_FALSE(edges({0, 0}));
}

TEST_CASE("arguments that do not fit together are refused") {
  const auto bins = sample_bins::integers(sample_type::uint8, 4);
  const std::array<std::uint8_t, 8> samples{};
  std::vector<std::uint64_t> rows(7);
  std::vector<double> sums(14);
  const auto counts = [&](const sample_view& view) { return refused([&] { count_samples(bins, view, rows); }); };
  CHECK(counts({.data = samples.data(), .frames = 2, .channels = 2}));
  CHECK(counts({.data = samples.data(), .frames = 1, .channels = 5}));
  CHECK(counts({.data = nullptr, .frames = 1}));
  CHECK_FALSE(counts({.data = nullptr, .frames = 0}));
  CHECK(refused([&] {
    sum_samples(bins, {.data = samples.data(), .frames = 1, .channels = 2}, {.data = samples.data(), .channels = 3},
                sums);
  }));
}

using gpu::samples::assign_slots;
using gpu::samples::block_samples;
using gpu::samples::slot_of;

// Samples on thresholds, next to them, and anywhere.
template <class Carrier>
std::vector<Carrier> hard_samples(const gpu::samples::tables<Carrier>& made) {
  std::vector<Carrier> samples;
  for (const auto key : made.thresholds) {
    for (int offset = -1; offset <= 1; ++offset)
      samples.push_back(gpu::samples::carrier_of<Carrier>(key + static_cast<decltype(key)>(offset)));
  }
  if constexpr (std::is_floating_point_v<Carrier>) {
    for (const Carrier each : {-INFINITY, INFINITY, NAN, -0.0F}) samples.push_back(each);
  }
  std::mt19937_64 random(2);  // NOLINT(cert-msc51-cpp): the same samples in every run
  while (samples.size() % block_samples != 0)
    samples.push_back(gpu::samples::carrier_of<Carrier>(static_cast<gpu::samples::key_of_carrier<Carrier>>(random())));
  return samples;
}

template <class Carrier>
bool vectors_agree(const sample_bins& bins) {
  const auto& made = std::get<gpu::samples::tables<Carrier>>(bins.internals().tables);
  const auto samples = hard_samples(made);
  std::vector<std::uint32_t> slots(block_samples);
  for (std::size_t at = 0; at < samples.size(); ++at) {
    if (at % block_samples == 0) assign_slots(made.view(), samples.data() + at, block_samples, slots.data());
    if (slots[at % block_samples] != slot_of(made.view(), samples[at])) return false;
  }
  return true;
}

template <class Carrier>
bool devices_agree(const sample_bins& bins) {
  const auto& made = std::get<gpu::samples::tables<Carrier>>(bins.internals().tables);
  auto binning = made.device_binning();
  binning.tables = {.thresholds = made.thresholds.data(),
                    .guide = made.quick.usable ? nullptr : made.device_guide().data()};
  const auto samples = hard_samples(made);
  return std::ranges::all_of(samples, [&](Carrier sample) {
    return gpu::samples::quick_slot(binning, made.device_quick(), sample) == slot_of(made.view(), sample);
  });
}

TEST_CASE("the arithmetic of devices assigns the slots of the host") {
  const std::vector<double> uneven{-3, 0, 0.1, 0.2, 7, 1000};
  const std::vector<double> far{1e-30, 1e-20, 1e-10, 1, 1e30, infinity};
  for (const std::uint32_t bins : {1U, 7U, 256U, 65536U, sample_bins::max_bins}) {
    CAPTURE(bins);
    CHECK(devices_agree<float>(sample_bins::even(sample_type::float32, bins, -1, 1)));
    CHECK(devices_agree<float>(sample_bins::even(sample_type::float32, bins, 100, 500)));
    CHECK(devices_agree<float>(sample_bins::even(sample_type::float32, bins, 0, 1e-38)));
    CHECK(devices_agree<double>(sample_bins::even(sample_type::float64, bins, 1e9, 1e9 + 1)));
    CHECK(devices_agree<std::uint32_t>(sample_bins::even(sample_type::int32, bins, -2e9, 2e9)));
    CHECK(devices_agree<std::uint32_t>(sample_bins::integers(sample_type::uint32, bins)));
    CHECK(devices_agree<std::uint32_t>(sample_bins::even(sample_type::int32, bins, -2147483648.0, 2147483647.0)));
    CHECK(devices_agree<std::uint64_t>(sample_bins::even(sample_type::int64, bins, -1e12, 1e18)));
  }
  for (const auto& edges : {uneven, far}) {
    CHECK(devices_agree<float>(sample_bins::edges(sample_type::float32, edges)));
    CHECK(devices_agree<double>(sample_bins::edges(sample_type::float64, edges)));
    CHECK(devices_agree<std::uint32_t>(sample_bins::edges(sample_type::int32, edges)));
  }
}

TEST_CASE("every instruction set assigns the slots of the scalar code") {
  const std::vector<double> uneven{-3, 0, 0.1, 0.2, 7, 1000};
  const auto supported = hwy::SupportedTargets();
  for (const auto target : hwy::SupportedAndGeneratedTargets()) {
    CAPTURE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    CHECK(vectors_agree<float>(sample_bins::even(sample_type::float32, 1000, -1, 1)));
    CHECK(vectors_agree<float>(sample_bins::edges(sample_type::float32, uneven)));
    CHECK(vectors_agree<double>(sample_bins::even(sample_type::float64, 1000, 1e6, 1e6 + 1)));
    CHECK(vectors_agree<double>(sample_bins::edges(sample_type::float64, uneven)));
    CHECK(vectors_agree<std::uint32_t>(sample_bins::even(sample_type::int32, 700, -5000, 1e6)));
    CHECK(vectors_agree<std::uint32_t>(sample_bins::edges(sample_type::uint32, uneven)));
  }
  hwy::SetSupportedTargetsForTest(supported);
}

}  // namespace
}  // namespace gpuhist
