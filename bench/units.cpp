#include "bench/units.hpp"

#include "bench/buffers.hpp"
#include "bench/contender.hpp"
#include "bench/contest.hpp"
#include "bench/cuda.hpp"
#include "bench/data.hpp"
#include "bench/generator.hpp"
#include "bench/table.hpp"
#include "gpu/cuda/units/piece_classes.hpp"
#include "gpu/cuda/units/unit_kernels.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>
#include <vector>

namespace gpuhist::bench {
namespace {

namespace units = gpu::cuda::units;

constexpr std::uint64_t span_bytes = std::uint64_t{1} << 30U;
constexpr std::size_t pattern_bytes = std::size_t{64} << 20U;
constexpr unsigned repetitions = 7;
constexpr std::array numbers_of_classes{4U, 8U, 16U};
constexpr std::array line_lengths{50U, 200U, 1000U};
constexpr std::uint8_t line_feed = '\n';

// The text of a log in lines of half to one and a half times this length.
std::vector<std::uint8_t> lines_of(unsigned length) {
  std::vector<std::uint8_t> text = make_data(data_set::text, pattern_bytes);
  std::ranges::replace(text, line_feed, std::uint8_t{' '});
  generator random(length);
  for (std::size_t at = length; at < text.size(); at += length / 2 + random.below(length)) text[at] = line_feed;
  text.back() = line_feed;
  return text;
}

units::piece_classes classes_of(unsigned classes) {
  gpu::partition made{.class_of = {}, .classes = static_cast<std::uint16_t>(classes - 1)};
  for (unsigned value = 0; value < 256; ++value)
    made.class_of[value] = static_cast<std::uint8_t>(value % (classes - 1));
  return units::piece_classes::make(made, std::byte{line_feed}).value();
}

// The bytes of each class, the first of which is the delimiter, and the number of units.
bin_counts expected_totals(const std::vector<std::uint8_t>& pattern, const units::piece_classes& classes) {
  bin_counts made(classes.classes + 1);
  for (const std::uint8_t each : pattern) ++made[classes.class_of[each]];
  made.back() = made.front();
  for (auto& each : made) each *= span_bytes / pattern.size();
  return made;
}

class unit_contender final : public contender {
 public:
  unit_contender(const units::piece_classes& classes, std::uint32_t units, const machine& device)
      : classes_(classes),
        multiprocessors_(device.multiprocessors),
        row_room_(units + units::tiles_in(span_bytes)),
        table_(sizeof(units::class_table)),
        extent_(sizeof(gpu::extent)),
        extent_pieces_(2 * sizeof(std::uint32_t)),
        tile_pieces_((units::tiles_in(span_bytes) + 1) * sizeof(std::uint32_t)),
        rows_(row_room_ * classes.words_of_row() * sizeof(std::uint32_t)) {
    const units::class_table table = classes.table();
    check(cudaMemcpy(table_.as(), table.data(), sizeof table, cudaMemcpyHostToDevice));
  }

  void clear(const stream&) override {}

  // The size changes once: the first estimate is of a part of the span.
  void run(std::span<const std::uint8_t> bytes, const stream& on) override {
    if (extent_bytes_ != bytes.size()) {
      const gpu::extent all{.begin = 0, .end = static_cast<std::uint32_t>(bytes.size())};
      check(cudaMemcpy(extent_.as(), &all, sizeof all, cudaMemcpyHostToDevice));
      extent_bytes_ = bytes.size();
    }
    check(units::launch_units({.text = bytes.data(),
                               .extents = extent_.as<const gpu::extent>(),
                               .extent_count = 1,
                               .text_room = static_cast<std::uint32_t>(bytes.size()),
                               .classes = table_.as<const std::uint32_t>(),
                               .counters = classes_.counters,
                               .delimiter = line_feed,
                               .tile_pieces = tile_pieces_.as<std::uint32_t>(),
                               .extent_pieces = extent_pieces_.as<std::uint32_t>(),
                               .rows = rows_.as<std::uint32_t>(),
                               .row_room = static_cast<std::uint32_t>(row_room_),
                               .multiprocessors = multiprocessors_},
                              on.get()));
  }

  bin_counts counts(std::uint64_t, const stream& on) override {
    std::array<std::uint32_t, 2> pieces{};
    check(cudaMemcpyAsync(pieces.data(), extent_pieces_.as(), sizeof pieces, cudaMemcpyDeviceToHost, on.get()));
    on.wait();
    std::vector<std::uint32_t> words(std::min<std::uint64_t>(pieces[1], row_room_) * classes_.words_of_row());
    check(cudaMemcpyAsync(words.data(), rows_.as(), words.size() * sizeof words[0], cudaMemcpyDeviceToHost, on.get()));
    on.wait();
    bin_counts made(classes_.classes + 1);
    const units::piece_rows rows(words, classes_);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rows.add_counts(i, std::span(made).first(classes_.classes));
      made.back() += rows.ends_unit(i) ? 1 : 0;
    }
    return made;
  }

 private:
  const units::piece_classes classes_;
  int multiprocessors_;
  std::uint64_t row_room_;
  device_bytes table_;
  device_bytes extent_;
  std::size_t extent_bytes_ = 0;
  device_bytes extent_pieces_;
  device_bytes tile_pieces_;
  device_bytes rows_;
};

measured_group measure_classes(unsigned number, const std::vector<std::uint8_t>& pattern, buffers& memory,
                               const machine& on, const stream& queue) {
  const units::piece_classes classes = classes_of(number);
  const bin_counts expected = expected_totals(pattern, classes);
  std::vector<entrant> entrants = read_only_entrants(on);
  entrants.push_back(
      {.name = "units",
       .kind = role::catalogue,
       .implementation = std::make_unique<unit_contender>(classes, static_cast<std::uint32_t>(expected.back()), on)});
  return {.data = "lines",
          .bytes = span_bytes,
          .counted = bins::bytes,
          .rows = measure(std::move(entrants), memory, expected, repetitions, queue)};
}

}  // namespace

bool measure_units(const machine& on) {
  std::printf("%s: rows of lines in 1 GiB of device memory, share of the rate of reading only\n\n%-12s",
              on.device.c_str(), "bytes a line");
  for (const unsigned classes : numbers_of_classes) std::printf(" %8u", classes);
  std::printf("  classes\n");
  bool all_right = true;
  const stream queue;
  const std::array sizes{span_bytes};
  buffers memory(sizes, on);
  for (const unsigned length : line_lengths) {
    const std::vector<std::uint8_t> pattern = lines_of(length);
    memory.fill(pattern, span_bytes, queue);
    std::printf("%-12u", length);
    for (const unsigned classes : numbers_of_classes) {
      const measured_group group = measure_classes(classes, pattern, memory, on, queue);
      const measurement& measured = *group.find("units");
      all_right = all_right && measured.counts == verdict::right;
      std::printf(" %8s", measured.counts == verdict::right ? fixed(figures_of(group, measured).of_ceiling, 3).c_str()
                                                            : "WRONG");
      std::fflush(stdout);
    }
    std::printf("\n");
  }
  return all_right;
}

}  // namespace gpuhist::bench
