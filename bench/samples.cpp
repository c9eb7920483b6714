#include "bench/samples.hpp"

#include "bench/buffers.hpp"
#include "bench/contest.hpp"
#include "bench/table.hpp"
#include "gpuhist/device_samples.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace gpuhist::bench {
namespace {

constexpr std::uint64_t span_bytes = std::uint64_t{1} << 30U;
constexpr std::size_t pattern_samples = std::size_t{16} << 20U;
constexpr unsigned repetitions = 21;

constexpr std::array shapes{
    sample_shape{.name = "int32, 256 bins", .type = sample_type::int32, .bins = 256},
    sample_shape{.name = "int32, 2048 bins", .type = sample_type::int32, .bins = 2048},
    sample_shape{.name = "int32, 65536 bins", .type = sample_type::int32, .bins = 65536},
    sample_shape{.name = "float32, 256 bins", .type = sample_type::float32, .bins = 256},
    sample_shape{.name = "float32, 2048 bins", .type = sample_type::float32, .bins = 2048},
    sample_shape{.name = "float32, 65536 bins", .type = sample_type::float32, .bins = 65536},
    sample_shape{.name = "float32, 1048576 bins", .type = sample_type::float32, .bins = 1U << 20U},
    sample_shape{.name = "float32, 64 x 64 bins", .type = sample_type::float32, .bins = 64, .y_bins = 64},
    sample_shape{.name = "float32, 256 x 256 bins", .type = sample_type::float32, .bins = 256, .y_bins = 256},
    sample_shape{.name = "float32, 1024 x 1024 bins", .type = sample_type::float32, .bins = 1024, .y_bins = 1024},
    sample_shape{.name = "float32, 256 given edges", .type = sample_type::float32, .bins = 256, .edges = true},
    sample_shape{.name = "float32, 256 bins, 4 channels", .type = sample_type::float32, .bins = 256, .channels = 4},
    sample_shape{.name = "float32, 256 bins, weighted", .type = sample_type::float32, .bins = 256, .weighted = true},
    sample_shape{.name = "float32, 256 bins, weights <= 1",
                 .type = sample_type::float32,
                 .bins = 256,
                 .weighted = true,
                 .limit = 1},
};

enum class sample_data { uniform, log_normal, constant };
constexpr std::array<std::pair<sample_data, const char*>, 3> every_data{
    {{sample_data::uniform, "uniform"}, {sample_data::log_normal, "log-normal"}, {sample_data::constant, "constant"}}};

// Log-normal samples above the range are counted as such.
constexpr double mean = 1;
constexpr sample_range float_range{.lower = 0, .upper = 10};
constexpr sample_range integer_range{.lower = 0, .upper = 1e9};

sample_range range_of(sample_type type) { return type == sample_type::int32 ? integer_range : float_range; }

std::vector<double> make_samples(sample_data which) {
  std::mt19937_64 random(4);  // NOLINT(cert-msc51-cpp): the same samples in every run
  std::uniform_real_distribution<double> uniform(0, float_range.upper);
  std::lognormal_distribution<double> log_normal(0, mean);
  std::vector<double> samples(pattern_samples, 3);
  if (which == sample_data::constant) return samples;
  for (double& each : samples) each = which == sample_data::uniform ? uniform(random) : log_normal(random);
  return samples;
}

// The memory of the pattern. Integers have the same places in their range as the others.
std::vector<std::uint8_t> pattern_of(const std::vector<double>& samples, sample_type type) {
  constexpr double factor = integer_range.upper / float_range.upper;
  std::vector<std::uint8_t> memory(samples.size() * 4);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const auto real = static_cast<float>(samples[i]);
    const auto integer = static_cast<std::int32_t>(std::min(samples[i] * factor, 2e9));
    std::memcpy(&memory[4 * i], type == sample_type::int32 ? static_cast<const void*>(&integer) : &real, 4);
  }
  return memory;
}

sample_bins even_bins(sample_type type, std::uint32_t bins) {
  const sample_range range = range_of(type);
  return sample_bins::even(type, bins, range.lower, range.upper);
}

std::optional<sample_bins> y_bins_of(const sample_shape& shape) {
  return shape.y_bins == 0 ? std::nullopt : std::optional(even_bins(shape.type, shape.y_bins));
}

sample_bins bins_of(const sample_shape& shape) {
  if (!shape.edges) return even_bins(shape.type, shape.bins);
  const auto edges = uneven_edges(shape.bins, range_of(shape.type));
  return sample_bins::edges(shape.type, std::vector<double>(edges.begin(), edges.end()));
}

sample_view view_of(std::span<const std::uint8_t> bytes, unsigned channels) {
  return {.data = bytes.data(), .frames = bytes.size() / 4 / channels, .channels = channels};
}

// The two arrays of a joint histogram are the halves of the memory. The second one begins a little earlier, so that it
// does not repeat the pattern in step with the first one.
constexpr std::size_t y_shift = 4096;

struct pair_views {
  sample_view x;
  sample_view y;
};

pair_views halves_of(std::span<const std::uint8_t> bytes) {
  const std::size_t half = bytes.size() / 2;
  return {.x = view_of(bytes.first(half), 1), .y = view_of(bytes.subspan(half - y_shift, half), 1)};
}

class device_contender final : public contender {
 public:
  explicit device_contender(const sample_shape& shape)
      : shape_(shape),
        bins_(bins_of(shape)),
        y_bins_(y_bins_of(shape)),
        histogram_{.bins = bins_, .y_bins = y_bins_ ? &*y_bins_ : nullptr, .channels = shape.channels},
        workspace_(workspace_bytes(histogram_)),
        rows_(histogram_.values() * sizeof(std::uint64_t)),
        weights_(shape.weighted ? span_bytes : 1) {
    check(prepare_workspace(histogram_, workspace_.as<void>(), nullptr));
    if (shape.weighted) fill_weights();
    check(cudaDeviceSynchronize());
  }

  void clear(const stream& on) override {
    check(cudaMemsetAsync(rows_.as(), 0, histogram_.values() * sizeof(std::uint64_t), on.get()));
  }
  void run(std::span<const std::uint8_t> bytes, const stream& on) override {
    const auto [samples, y] = y_bins_ ? halves_of(bytes) : pair_views{.x = view_of(bytes, shape_.channels), .y = {}};
    const device_weights weights{.view = {.data = weights_.as(), .type = weight_type::float32}, .limit = shape_.limit};
    check(shape_.weighted
              ? sum_device_samples(histogram_, samples, weights, rows_.as<double>(), workspace_.as<void>(), on.get())
              : count_device_samples(histogram_, samples, rows_.as<unsigned long long>(), workspace_.as<void>(),
                                     on.get(), y));
  }
  // Weights are 1, so that their sums are counts.
  bin_counts counts(std::uint64_t, const stream& on) override {
    std::vector<std::uint64_t> row(histogram_.values());
    check(cudaMemcpyAsync(row.data(), rows_.as(), row.size() * sizeof row[0], cudaMemcpyDeviceToHost, on.get()));
    on.wait();
    if (shape_.weighted) {
      for (std::uint64_t& each : row) each = static_cast<std::uint64_t>(std::bit_cast<double>(each));
    }
    return row;
  }

 private:
  void fill_weights() {
    const std::vector<float> ones(span_bytes / sizeof(float), 1.0F);
    check(cudaMemcpy(weights_.as(), ones.data(), span_bytes, cudaMemcpyHostToDevice));
  }

  sample_shape shape_;
  sample_bins bins_;
  std::optional<sample_bins> y_bins_;
  device_histogram histogram_;
  device_bytes workspace_;
  device_bytes rows_;
  device_bytes weights_;
};

bin_counts expected_pairs(const sample_shape& shape, const std::vector<std::uint8_t>& pattern) {
  std::vector<std::uint8_t> shifted = pattern;
  std::ranges::rotate(shifted, shifted.end() - y_shift);
  const sample_bins x = bins_of(shape);
  const auto y = y_bins_of(shape);
  const joint_samples samples{.x_bins = x, .x = view_of(pattern, 1), .y_bins = *y, .y = view_of(shifted, 1)};
  bin_counts row(samples.row_size());
  count_joint(samples, row, 4);
  for (std::uint64_t& each : row) each *= span_bytes / 2 / pattern.size();
  return row;
}

bin_counts expected_rows(const sample_shape& shape, const std::vector<std::uint8_t>& pattern) {
  if (shape.y_bins != 0) return expected_pairs(shape, pattern);
  const sample_bins bins = bins_of(shape);
  bin_counts rows(shape.channels * bins.row_size());
  count_samples(bins, view_of(pattern, shape.channels), rows, 4);
  for (std::uint64_t& each : rows) each *= span_bytes / pattern.size();
  return rows;
}

struct shares {
  std::string ours;
  std::string peer;
  bool right;
};

shares measure_shape(const sample_shape& shape, const std::vector<std::uint8_t>& pattern, buffers& memory,
                     const machine& on, const stream& queue) {
  std::vector<entrant> entrants = read_only_entrants(on);
  entrants.push_back({.name = "gpuhist", .implementation = std::make_unique<device_contender>(shape)});
  if (auto peer = cub_samples(shape, range_of(shape.type), span_bytes))
    entrants.push_back({.name = "cub", .kind = role::peer, .implementation = std::move(peer)});
  const measured_group group{
      .data = {},
      .bytes = span_bytes,
      .counted = bins::bytes,
      .rows = measure(std::move(entrants), memory, expected_rows(shape, pattern), repetitions, queue)};
  const auto share = [&](const char* name) {
    const measurement* const found = group.find(name);
    if (found == nullptr) return std::string("-");
    const auto of_ceiling = figures_of(group, *found).of_ceiling;
    // weights are as many bytes as samples
    return of_ceiling ? fixed(*of_ceiling * (shape.weighted ? 2 : 1), 3) : std::string("WRONG");
  };
  return {share("gpuhist"), share("cub"), group.find("gpuhist")->counts == verdict::right};
}

}  // namespace

std::vector<float> uneven_edges(std::uint32_t bins, const sample_range& range) {
  std::vector<float> edges(std::size_t{bins} + 1);
  for (std::size_t i = 0; i < edges.size(); ++i) {
    const double part = static_cast<double>(i) / bins;
    edges[i] = static_cast<float>(range.lower + part * std::sqrt(part) * (range.upper - range.lower));
  }
  return edges;
}

bool measure_samples(const machine& on) {
  std::printf("%s: histograms of 1 GiB of samples in device memory, rate as a share of reading only\n",
              on.device.c_str());
  bool all_right = true;
  const stream queue;
  const std::array sizes{span_bytes};
  buffers memory(sizes, on);
  for (const auto& [which, name] : every_data) {
    std::printf("\n%-32s %8s %8s\n", name, "gpuhist", "CUB");
    const std::vector<double> samples = make_samples(which);
    sample_type filled = sample_type::uint8;
    std::vector<std::uint8_t> pattern;
    for (const sample_shape& shape : shapes) {
      if (shape.type != filled) {
        pattern = pattern_of(samples, shape.type);
        memory.fill(pattern, span_bytes, queue);
        filled = shape.type;
      }
      const shares found = measure_shape(shape, pattern, memory, on, queue);
      all_right = all_right && found.right;
      std::printf("%-32s %8s %8s\n", shape.name, found.ours.c_str(), found.peer.c_str());
      std::fflush(stdout);
    }
  }
  return all_right;
}

}  // namespace gpuhist::bench
