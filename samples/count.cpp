// count_samples and count_joint on the host. Every thread counts a range of the frames in its own table.
#include "samples/arguments.hpp"
#include "samples/frame_ranges.hpp"
#include "samples/readers.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace gpuhist {
namespace {

using namespace gpu::samples;

// A thread costs more than it saves below this number of frames.
constexpr std::uint64_t frames_per_thread = std::uint64_t{1} << 16U;

// Counters of one thread. Equal slots often follow each other, and an addition waits for the one before to the same
// counter. So small rows have four copies that take turns.
class counter_table {
 public:
  explicit counter_table(std::size_t slots)
      : slots_(slots), copies_(slots <= largest_copied ? copies : 1), counters_(slots * copies_) {}

  // The slots of channel `channel` of `channels`.
  void add(std::span<const std::uint32_t> slots, unsigned channel, unsigned channels, std::size_t row) {
    std::uint64_t* const counters = counters_.data() + row;
    std::size_t copy = 0;
    const std::size_t step = copies_ == 1 ? 0 : slots_;
    for (std::size_t i = channel; i < slots.size(); i += channels) {
      ++counters[copy + slots[i]];
      copy = copy == 3 * step ? 0 : copy + step;
    }
  }

  [[nodiscard]] std::uint64_t sum(std::size_t slot) const {
    std::uint64_t all = 0;
    for (std::size_t copy = 0; copy < copies_; ++copy) all += counters_[copy * slots_ + slot];
    return all;
  }

 private:
  static constexpr std::size_t copies = 4;
  static constexpr std::size_t largest_copied = 4096;

  std::size_t slots_;
  std::size_t copies_;
  std::vector<std::uint64_t> counters_;
};

template <class Reader>
void count_range(Reader& reader, frame_range range, unsigned channels, std::size_t row_size, counter_table& into) {
  const std::size_t block = block_frames(channels);
  for (std::uint64_t at = range.first; at < range.last; at += block) {
    const auto slots = reader.read(at, static_cast<std::size_t>(std::min<std::uint64_t>(block, range.last - at)));
    for (unsigned channel = 0; channel < channels; ++channel) into.add(slots, channel, channels, channel * row_size);
  }
}

// `make_reader` makes a reader for a thread.
template <class MakeReader>
std::vector<counter_table> count_ranges(std::uint64_t frames, unsigned channels, std::size_t row_size, unsigned threads,
                                        const MakeReader& make_reader) {
  const unsigned ranges = threads_for(frames / frames_per_thread, threads);
  std::vector<counter_table> tables(ranges, counter_table(0));
  run_ranges(ranges, ranges, [&](unsigned index) {
    counter_table table(channels * row_size);
    auto reader = make_reader();
    count_range(reader, range_of(frames, ranges, index), channels, row_size, table);
    tables[index] = std::move(table);
  });
  return tables;
}

}  // namespace

void count_samples(const sample_bins& bins, const sample_view& samples, std::span<std::uint64_t> rows,
                   unsigned threads) {
  check_view(samples);
  const std::size_t row = bins.row_size();
  check_rows(rows.size(), samples.channels * row);
  const auto tables =
      count_ranges(samples.frames, samples.channels, row, threads, [&] { return slot_reader(bins, samples); });
  for (std::size_t channel = 0; channel < samples.channels; ++channel) {
    for (std::uint32_t slot = 0; slot < row; ++slot) {
      std::uint64_t& counter = rows[channel * row + place_of(slot, bins.bins())];
      for (const counter_table& table : tables) counter += table.sum(channel * row + slot);
    }
  }
}

void count_joint(const joint_samples& samples, std::span<std::uint64_t> row, unsigned threads) {
  check_joint(samples);
  check_rows(row.size(), samples.row_size());
  const auto tables = count_ranges(samples.x.frames, 1, row.size(), threads, [&] { return joint_reader(samples); });
  for (std::size_t place = 0; place < row.size(); ++place) {
    for (const counter_table& table : tables) row[place] += table.sum(place);
  }
}

}  // namespace gpuhist
