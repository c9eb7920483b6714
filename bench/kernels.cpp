#include "bench/kernels.hpp"

#include "bench/contest.hpp"
#include "bench/kernels/coarsening.hpp"
#include "config/size.hpp"
#include "config/usage_error.hpp"

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

namespace gpuhist::bench {
namespace {

using kernels::catalogue;
using kernels::find_strategy;
using kernels::lane_private_variants;
using kernels::strategy;

static_assert(largest_coarsening == kernels::max_coarsening);

// Size of a data set in host memory; buffers on the device repeat it. Larger than the caches of the host, because the
// sequential loop reads it.
constexpr std::uint64_t made_bytes = std::uint64_t{64} << 20U;
constexpr std::uint64_t max_read_bytes = std::uint64_t{1} << 30U;

std::string for_people(std::uint64_t bytes) { return config::format_size(bytes); }

/// The constant state of a run.
struct bench {
  const kernels_options& options;
  const machine& device;
  stream queue;
  buffers data;

  bench(const kernels_options& asked, const machine& on) : options(asked), device(on), data(asked.sizes, on) {}

  [[nodiscard]] bool wants(std::string_view kernel) const {
    return options.kernels.empty() || std::ranges::find(options.kernels, kernel) != options.kernels.end();
  }
};

void check_applicable(const kernels_options& options) {
  for (const std::string& name : options.kernels) {
    const strategy* const found = find_strategy(name);
    const auto applies = [&](bins counted) {
      return found != nullptr ? found->applies_to(counted) : name == cub_name(counted);
    };
    if (std::ranges::any_of(options.counted, applies)) continue;
    const bins other = options.counted.front() == bins::letters ? bins::bytes : bins::letters;
    throw config::usage_error("--kernel: " + name + " does not count " + std::string(name_of(options.counted.front())) +
                              ", only " + std::string(name_of(other)));
  }
}

void check_coarsening(const kernels_options& options) {
  const auto has_coarsening = [](const std::string& name) {
    const strategy* const found = find_strategy(name);
    return found != nullptr && found->has_coarsening;
  };
  if (options.coarsening == 0 || options.kernels.empty() || std::ranges::any_of(options.kernels, has_coarsening))
    return;
  throw config::usage_error("--coarsening: no kernel of --kernel has a coarsening factor");
}

std::vector<entrant> entrants_for(const bench& in, bins counted, std::uint64_t size) {
  std::vector<entrant> entrants = read_only_entrants(in.device);
  for (const strategy& each : catalogue()) {
    if (!each.applies_to(counted) || !in.wants(each.name)) continue;
    entrants.push_back(strategy_entrant(each, role::catalogue, counted, in.device, in.options.coarsening));
  }
  if (in.wants(cub_name(counted))) entrants.push_back(cub_entrant(counted, size));
  if (!in.options.variants) return entrants;
  for (const strategy& each : lane_private_variants()) {
    if (each.applies_to(counted)) entrants.push_back(strategy_entrant(each, role::variant, counted, in.device, 0));
  }
  return entrants;
}

measurement loop_measurement(double rate, std::uint64_t size) {
  const double seconds = static_cast<double>(size) / rate;
  return {.kernel = std::string(sequential_loop),
          .kind = role::host,
          .runs = 1,
          .median = seconds,
          .least = seconds,
          .most = seconds,
          .counts = verdict::right};
}

std::vector<std::uint8_t> pattern_of(data_set which, const kernels_options& options) {
  const std::uint64_t largest = std::ranges::max(options.sizes);
  if (which == data_set::text && !options.input.empty()) {
    return read_data(options.input, static_cast<std::size_t>(std::min(largest, max_read_bytes)));
  }
  return make_data(which, static_cast<std::size_t>(std::min(largest, made_bytes)));
}

struct pattern {
  std::string name;
  std::vector<std::uint8_t> bytes;
};

bool counts_anything(const std::vector<entrant>& entrants) {
  return std::ranges::any_of(entrants, [](const entrant& each) { return each.kind != role::ceiling; });
}

/// Measures one kind of bins on filled buffers. The group has no rows if no requested kernel counts these bins.
measured_group measure_group(bench& in, const pattern& data, std::uint64_t size, bins counted, double loop_rate) {
  measured_group group{.data = data.name, .bytes = size, .counted = counted, .rows = {}};
  std::vector<entrant> entrants = entrants_for(in, counted, size);
  if (!counts_anything(entrants)) return group;
  group.rows = measure(std::move(entrants), in.data, expected_counts(data.bytes, size, counted), in.options.repetitions,
                       in.queue);
  group.rows.push_back(loop_measurement(loop_rate, size));
  return group;
}

void measure_data(bench& in, const pattern& data, const std::function<void(measured_group)>& report) {
  std::vector<double> loop_rates;
  for (const bins counted : in.options.counted) loop_rates.push_back(sequential_rate(data.bytes, counted));
  for (const std::uint64_t size : in.options.sizes) {
    if (!in.data.holds(size)) continue;
    in.data.fill(data.bytes, size, in.queue);
    for (std::size_t i = 0; i < loop_rates.size(); ++i) {
      auto group = measure_group(in, data, size, in.options.counted[i], loop_rates[i]);
      if (!group.rows.empty()) report(std::move(group));
    }
  }
}

void check_memory(const bench& in) {
  std::size_t held = 0;
  for (const std::uint64_t size : in.options.sizes) {
    if (in.data.holds(size)) {
      ++held;
    } else {
      std::fprintf(stderr, "gpuhist-bench: skipped: %s do not fit into the free memory of the device\n",
                   for_people(size).c_str());
    }
  }
  if (held == 0) throw config::usage_error("--sizes: no size fits into the free memory of the device");
}

}  // namespace

std::vector<std::string_view> kernel_names() {
  std::vector<std::string_view> names;
  for (const strategy& each : catalogue()) names.push_back(each.name);
  names.insert(names.end(), cub_names.begin(), cub_names.end());
  return names;
}

void check_options(const kernels_options& options) {
  check_applicable(options);
  check_coarsening(options);
}

void measure_kernels(const kernels_options& options, const machine& device,
                     const std::function<void(measured_group)>& report) {
  bench in(options, device);
  check_memory(in);
  for (const data_set each : options.data) {
    measure_data(in, {.name = std::string(name_of(each)), .bytes = pattern_of(each, options)}, report);
  }
}

}  // namespace gpuhist::bench
