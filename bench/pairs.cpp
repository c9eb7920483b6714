#include "bench/pairs.hpp"

#include "bench/buffers.hpp"
#include "bench/contender.hpp"
#include "bench/contest.hpp"
#include "bench/cuda.hpp"
#include "bench/data.hpp"
#include "bench/table.hpp"
#include "gpu/cuda/kernels/counting_kernels.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>
#include <vector>

namespace gpuhist::bench {
namespace {

constexpr std::uint64_t span_bytes = std::uint64_t{1} << 30U;
constexpr std::size_t pattern_bytes = std::size_t{64} << 20U;
constexpr unsigned repetitions = 31;
constexpr std::array numbers_of_classes{8U, 16U, 27U, 32U};

// Letters by range, as the scheme `letters`, or by letter; the remaining classes are byte values in turn.
gpu::partition classes_of_text(unsigned classes) {
  const unsigned of_letters = classes > 26 ? 26 : 7;
  gpu::partition made{.class_of = {}, .classes = static_cast<std::uint16_t>(classes)};
  for (unsigned value = 0; value < 256; ++value) {
    const unsigned letter = (value | 0x20U) - 'a';
    const unsigned range = of_letters == 26 ? letter : std::min(letter / 4, 6U);
    made.class_of[value] = static_cast<std::uint8_t>(letter < 26 ? range : of_letters + value % (classes - of_letters));
  }
  return made;
}

// Pairs of the repeated pattern.
bin_counts expected_pairs(const std::vector<std::uint8_t>& pattern, const gpu::partition& classes) {
  const auto cell = [&](std::uint8_t first, std::uint8_t second) {
    return std::size_t{classes.class_of[first]} * classes.classes + classes.class_of[second];
  };
  bin_counts counts(std::size_t{classes.classes} * classes.classes);
  for (std::size_t i = 1; i < pattern.size(); ++i) ++counts[cell(pattern[i - 1], pattern[i])];
  const std::uint64_t times = span_bytes / pattern.size();
  for (auto& each : counts) each *= times;
  counts[cell(pattern.back(), pattern.front())] += times - 1;
  return counts;
}

class pair_contender final : public contender {
 public:
  pair_contender(const gpu::partition& classes, const machine& device)
      : classes_(classes),
        multiprocessors_(device.multiprocessors),
        cells_(std::size_t{classes.classes} * classes.classes),
        extent_(sizeof(gpu::extent)),
        row_(cells_ * sizeof(std::uint32_t)) {}

  void clear(const stream& on) override {
    check(cudaMemsetAsync(row_.as(), 0, cells_ * sizeof(std::uint32_t), on.get()));
  }

  // The size changes once: the first estimate is of a part of the span.
  void run(std::span<const std::uint8_t> bytes, const stream& on) override {
    if (extent_bytes_ != bytes.size()) {
      const gpu::extent all{.begin = 0, .end = static_cast<std::uint32_t>(bytes.size())};
      check(cudaMemcpy(extent_.as(), &all, sizeof all, cudaMemcpyHostToDevice));
      extent_bytes_ = bytes.size();
    }
    const gpu::cuda::pair_launch launch{.chunk = {.bytes = reinterpret_cast<const std::byte*>(bytes.data()),
                                                  .extents = extent_.as<const gpu::extent>(),
                                                  .extent_count = 1,
                                                  .rows = row_.as<std::uint32_t>(),
                                                  .chunk_bytes = static_cast<std::uint32_t>(bytes.size()),
                                                  .multiprocessors = multiprocessors_},
                                        .classes = &classes_};
    check(gpu::cuda::kernels::launch_pair_private(launch, on.get()));
  }

  bin_counts counts(std::uint64_t, const stream& on) override {
    std::vector<std::uint32_t> row(cells_);
    check(cudaMemcpyAsync(row.data(), row_.as(), cells_ * sizeof row[0], cudaMemcpyDeviceToHost, on.get()));
    on.wait();
    return {row.begin(), row.end()};
  }

 private:
  const gpu::partition classes_;
  int multiprocessors_;
  std::size_t cells_;
  device_bytes extent_;
  std::size_t extent_bytes_ = 0;
  device_bytes row_;
};

measured_group measure_classes(unsigned classes, const std::vector<std::uint8_t>& pattern, const std::string& data,
                               buffers& memory, const machine& on, const stream& queue) {
  const gpu::partition counted = classes_of_text(classes);
  std::vector<entrant> entrants = read_only_entrants(on);
  entrants.push_back({.name = "pair_private",
                      .kind = role::catalogue,
                      .implementation = std::make_unique<pair_contender>(counted, on)});
  return {.data = data,
          .bytes = span_bytes,
          .counted = bins::bytes,
          .rows = measure(std::move(entrants), memory, expected_pairs(pattern, counted), repetitions, queue)};
}

}  // namespace

bool measure_pairs(const machine& on) {
  std::printf("%s: pairs of classes in 1 GiB of device memory, share of the rate of reading only\n\n%-12s",
              on.device.c_str(), "data");
  for (const unsigned classes : numbers_of_classes) std::printf(" %8u", classes);
  std::printf("  classes\n");
  bool all_right = true;
  const stream queue;
  const std::array sizes{span_bytes};
  buffers memory(sizes, on);
  for (const data_set each : every_data_set) {
    const std::vector<std::uint8_t> pattern = make_data(each, pattern_bytes);
    memory.fill(pattern, span_bytes, queue);
    std::printf("%-12s", std::string(name_of(each)).c_str());
    for (const unsigned classes : numbers_of_classes) {
      const measured_group group = measure_classes(classes, pattern, std::string(name_of(each)), memory, on, queue);
      const measurement& pairs = *group.find("pair_private");
      all_right = all_right && pairs.counts == verdict::right;
      std::printf(" %8s",
                  pairs.counts == verdict::right ? fixed(figures_of(group, pairs).of_ceiling, 3).c_str() : "WRONG");
      std::fflush(stdout);
    }
    std::printf("\n");
  }
  return all_right;
}

}  // namespace gpuhist::bench
