#include "bench/host_kernels.hpp"

#include "bench/core_clock.hpp"
#include "bench/vector_sum.hpp"
#include "config/scheme.hpp"
#include "gpu/host/kernel.hpp"
#include "gpu/host/pairs.hpp"

#include <benchmark/benchmark.h>
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <map>
#include <stdexcept>

namespace gpuhist::bench {
namespace {

using gpu::partition;
namespace host = gpu::host;
using bytes_view = std::span<const std::byte>;

constexpr std::size_t longest_pattern = std::size_t{16} << 20U;  // longer data repeat it

struct counted_classes {
  std::string name;
  partition counted;
};

// The partition that the command uses for a scheme: its buckets, with line feeds in a class of their own.
partition partition_of(const config::scheme& scheme) {
  partition result;
  std::map<std::pair<std::size_t, bool>, std::uint8_t> classes;
  for (std::size_t value = 0; value < 256; ++value) {
    const std::pair looks{std::size_t{scheme.bucket_of[value]}, value == '\n'};
    result.class_of[value] = classes.try_emplace(looks, static_cast<std::uint8_t>(classes.size())).first->second;
  }
  result.classes = static_cast<std::uint16_t>(classes.size());
  return result;
}

// Neighbouring values are in different classes: the worst case for comparisons with boundaries.
partition scattered_over_16() {
  partition result{.class_of = {}, .classes = 16};
  for (std::size_t value = 0; value < 256; ++value) {
    result.class_of[value] = static_cast<std::uint8_t>((value * 7 + value / 16) % 16);
  }
  return result;
}

std::vector<counted_classes> every_partition() {
  const partition letters = partition_of(config::find_scheme("letters"));
  const partition alphabet = partition_of(config::find_scheme("alphabet"));
  return {{"letters (" + std::to_string(letters.classes) + " classes)", letters},
          {"scattered (16 classes)", scattered_over_16()},
          {"alphabet (" + std::to_string(alphabet.classes) + " classes)", alphabet},
          {"bytes (256 classes)", partition::identity()}};
}

// Makes Highway choose one instruction set until the end of the scope.
class only_target {
 public:
  explicit only_target(std::int64_t target) { set(target); }
  only_target(const only_target&) = delete;
  only_target& operator=(const only_target&) = delete;
  ~only_target() { set(0); }

 private:
  static void set(std::int64_t targets) {
    hwy::SetSupportedTargetsForTest(targets);
    hwy::GetChosenTarget().DeInit();
  }
};

std::vector<std::byte> make_bytes(data_set which, std::size_t size) {
  const auto pattern = make_data(which, std::min(size, longest_pattern));
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(pattern[i % pattern.size()]);
  return bytes;
}

std::vector<std::uint32_t> count_with(const host::kernel& kernel, bytes_view bytes,
                                      const host::prepared_partition& prepared) {
  std::vector<std::uint32_t> row(prepared.counted.classes);
  kernel.count(bytes, prepared, row.data());
  return row;
}

// The arguments of one benchmark. Google Benchmark keeps a function with a copy of it.
struct entrant {
  const host::kernel* kernel = nullptr;  // null: vector_sum
  std::int64_t target = 0;               // 0: the best one
  bytes_view bytes;
  const host::prepared_partition* prepared = nullptr;
  const std::vector<std::uint32_t>* expected = nullptr;
};

void run_sum(benchmark::State& state, const entrant& measured) {
  for (auto each : state) {
    (void)each;
    benchmark::DoNotOptimize(vector_sum(measured.bytes));
  }
  state.SetLabel("vector_sum");
}

void run_kernel(benchmark::State& state, const entrant& measured) {
  const only_target chosen(measured.target);
  std::vector<std::uint32_t> row(measured.prepared->counted.classes);
  for (auto each : state) {
    (void)each;
    measured.kernel->count(measured.bytes, *measured.prepared, row.data());
    benchmark::ClobberMemory();
  }
  const std::string ran = measured.kernel->full_name();
  state.SetLabel(ran);
  if (row != *measured.expected) return state.SkipWithError((ran + " counted wrongly").c_str());
  if (measured.target == 0 || measured.kernel->instruction_set() == hwy::TargetName(measured.target)) return;
  state.SkipWithError((ran + " ran where " + hwy::TargetName(measured.target) + " was requested").c_str());
}

// Keeps the fastest repetition of each benchmark, in the order of registration.
class fastest final : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }

  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.error_occurred) error = run.error_message;
      if (run.error_occurred || run.run_type != Run::RT_Iteration) continue;
      const double seconds = run.cpu_accumulated_time / static_cast<double>(run.iterations);
      const auto at = static_cast<std::size_t>(run.family_index);
      if (rows.size() <= at) rows.resize(at + 1);
      auto& [label, least] = rows[at];
      least = label.empty() ? seconds : std::min(least, seconds);
      label = run.report_label;
    }
  }

  std::vector<std::pair<std::string, double>> rows;  // label, seconds
  std::string error;
};

void register_entrants(const std::vector<entrant>& entrants) {
  for (const entrant& each : entrants) {
    const std::string name = each.kernel == nullptr ? "sum" : std::string(each.kernel->name);
    benchmark::RegisterBenchmark(name.c_str(), [each](benchmark::State& state) {
      each.kernel == nullptr ? run_sum(state, each) : run_kernel(state, each);
    });
  }
}

bool is_requested(const host_options& options, std::string_view kernel) {
  return options.kernels.empty() || std::ranges::find(options.kernels, kernel) != options.kernels.end();
}

void add_kernel(std::vector<entrant>& to, const host::kernel& kernel, entrant with) {
  with.kernel = &kernel;
  if (kernel.instruction_set().empty()) return to.push_back(with);
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    const only_target chosen(target);
    with.target = target;
    if (kernel.applies(*with.prepared)) to.push_back(with);
  }
}

// Letters in ranges of equal size, and all other values.
partition letters_in(unsigned classes) {
  partition result{.class_of = {}, .classes = static_cast<std::uint16_t>(classes)};
  for (unsigned value = 0; value < 256; ++value) {
    const bool is_letter = value >= 'a' && value <= 'z';
    result.class_of[value] = static_cast<std::uint8_t>(is_letter ? (value - 'a') * (classes - 1) / 26 : classes - 1);
  }
  return result;
}

void run_pairs(benchmark::State& state, bytes_view bytes, const partition& classes, std::int64_t target) {
  const only_target chosen(target);
  const host::prepared_pairs prepared(classes);
  std::vector<std::uint32_t> row(std::size_t{classes.classes} * classes.classes);
  std::vector<std::uint32_t> expected(row.size());
  for (auto each : state) {
    (void)each;
    host::count_pairs(bytes, prepared, row.data());
    benchmark::ClobberMemory();
  }
  host::count_pairs_simply(bytes, classes, expected.data());
  state.SetLabel(std::string("pairs/") + hwy::TargetName(target));
  if (row != expected) state.SkipWithError("pairs were counted wrongly");
}

void run_simple_pairs(benchmark::State& state, bytes_view bytes, const partition& classes) {
  std::vector<std::uint32_t> row(std::size_t{classes.classes} * classes.classes);
  for (auto each : state) {
    (void)each;
    host::count_pairs_simply(bytes, classes, row.data());
    benchmark::ClobberMemory();
  }
  state.SetLabel("simple loop");
}

void register_pairs(bytes_view bytes, const partition& classes) {
  benchmark::RegisterBenchmark("sum", [bytes](benchmark::State& state) { run_sum(state, {.bytes = bytes}); });
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    benchmark::RegisterBenchmark("pairs", [=](benchmark::State& state) { run_pairs(state, bytes, classes, target); });
  }
  benchmark::RegisterBenchmark("simple", [=](benchmark::State& state) { run_simple_pairs(state, bytes, classes); });
}

// Runs what is registered.
host_group measure_registered(const std::string& classes, data_set data, bytes_view bytes) {
  fastest found;
  const double clock_before = core_clock();
  benchmark::RunSpecifiedBenchmarks(&found);
  const double clock = std::max(clock_before, core_clock());
  if (!found.error.empty()) throw std::runtime_error(found.error);
  host_group group{classes, std::string(name_of(data)), bytes.size(), {}};
  for (const auto& [ran, seconds] : found.rows) {
    const auto size = static_cast<double>(bytes.size());
    group.rows.push_back({ran, size / seconds, seconds * clock / size, found.rows.front().second / seconds});
  }
  return group;
}

host_group measure_pairs(unsigned classes, data_set data, bytes_view bytes) {
  benchmark::ClearRegisteredBenchmarks();
  register_pairs(bytes, letters_in(classes));
  return measure_registered("pairs of " + std::to_string(classes) + " classes", data, bytes);
}

host_group measure_group(const host_options& options, const counted_classes& classes, data_set data, bytes_view bytes) {
  const host::prepared_partition prepared = host::prepare(classes.counted);
  const auto expected = count_with(host::kernels().back(), bytes, prepared);
  const entrant common{.bytes = bytes, .prepared = &prepared, .expected = &expected};
  std::vector<entrant> entrants{common};
  for (const host::kernel& kernel : host::kernels()) {
    if (is_requested(options, kernel.name)) add_kernel(entrants, kernel, common);
  }
  benchmark::ClearRegisteredBenchmarks();
  register_entrants(entrants);
  return measure_registered(classes.name, data, bytes);
}

// Google Benchmark reads its settings from a command line, once per process.
void set_up_benchmark(unsigned repetitions) {
  std::array<std::string, 4> arguments{"gpuhist-bench", "--benchmark_repetitions=" + std::to_string(repetitions),
                                       "--benchmark_enable_random_interleaving=true", "--benchmark_min_time=0.02"};
  std::array<char*, arguments.size() + 1> pointers{};
  for (std::size_t i = 0; i < arguments.size(); ++i) pointers[i] = arguments[i].data();
  int count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, pointers.data());
}

}  // namespace

std::vector<std::string_view> host_kernel_names() {
  std::vector<std::string_view> names;
  for (const host::kernel& each : host::kernels()) names.push_back(each.name);
  return names;
}

void measure_host(const host_options& options, const std::function<void(const host_group&)>& report) {
  set_up_benchmark(options.repetitions);
  for (const data_set data : options.data) {
    for (const std::uint64_t size : options.sizes) {
      const auto bytes = make_bytes(data, size);
      for (const counted_classes& classes : every_partition()) report(measure_group(options, classes, data, bytes));
      if (!options.kernels.empty()) continue;
      for (const unsigned classes : {8U, 16U, 32U}) report(measure_pairs(classes, data, bytes));
    }
  }
}

}  // namespace gpuhist::bench
