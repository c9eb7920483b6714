// sum_samples and sum_joint on the host. The ranges of the frames depend only on their number and on the size of the
// row, and their sums are added in order, so the result does not depend on threads.
#include "samples/arguments.hpp"
#include "samples/frame_ranges.hpp"
#include "samples/readers.hpp"

#include <algorithm>
#include <vector>

namespace gpuhist {
namespace {

using namespace gpu::samples;

// Part of the definition of the result: other values give other roundings.
constexpr std::uint64_t min_range_frames = std::uint64_t{1} << 16U;
constexpr std::uint64_t max_ranges = 64;
constexpr std::uint64_t max_values = std::uint64_t{1} << 23U;  // of the rows of all ranges: 64 MiB

unsigned ranges_for(std::uint64_t frames, std::size_t values) {
  const std::uint64_t most = std::clamp<std::uint64_t>(max_values / values, 1, max_ranges);
  return static_cast<unsigned>(std::clamp<std::uint64_t>(frames / min_range_frames, 1, most));
}

// Adds the values of each range to `rows`, the first range first.
template <class AddRange>
void sum_ranges(std::uint64_t frames, unsigned threads, std::span<double> rows, const AddRange& add_range) {
  const unsigned ranges = ranges_for(frames, rows.size());
  std::vector<std::vector<double>> sums(ranges);
  run_ranges(ranges, threads_for(ranges, threads), [&](unsigned index) {
    std::vector<double> sum(rows.size());
    add_range(range_of(frames, ranges, index), sum);
    sums[index] = std::move(sum);
  });
  for (std::size_t i = 0; i < rows.size(); ++i) {
    double all = sums.front()[i];
    for (std::size_t range = 1; range < ranges; ++range) all += sums[range][i];
    rows[i] += all;
  }
}

// `add(block of slots, block of weights)` for the blocks of a range.
template <class Reader, class Add>
void read_range(Reader reader, const weight_view& weights, unsigned channels, frame_range range, const Add& add) {
  weight_reader of_weights(weights);
  const std::size_t block = block_frames(channels);
  for (std::uint64_t at = range.first; at < range.last; at += block) {
    const auto frames = static_cast<std::size_t>(std::min<std::uint64_t>(block, range.last - at));
    add(reader.read(at, frames), of_weights.read(at, frames));
  }
}

// The values after the bins are counts.
double value_of(double weight, std::uint32_t place, std::size_t bins) { return place < bins ? weight : 1; }

}  // namespace

void sum_samples(const sample_bins& bins, const sample_view& samples, const weight_view& weights,
                 std::span<double> rows, unsigned threads) {
  check_view(samples);
  check_weights(weights, samples);
  check_rows(rows.size(), samples.channels * bins.row_size());
  const unsigned channels = samples.channels;
  const unsigned repeated = weights.channels == channels ? 1 : channels;  // samples that share a weight
  sum_ranges(samples.frames, threads, rows, [&](frame_range range, std::span<double> into) {
    read_range(slot_reader(bins, samples), weights, channels, range, [&](auto slots, auto given) {
      for (std::size_t i = 0; i < slots.size(); ++i) {
        const std::uint32_t place = place_of(slots[i], bins.bins());
        into[i % channels * bins.row_size() + place] += value_of(given[i / repeated], place, bins.bins());
      }
    });
  });
}

void sum_joint(const joint_samples& samples, const weight_view& weights, std::span<double> row, unsigned threads) {
  check_joint(samples);
  check_weights(weights, samples.x);
  check_rows(row.size(), samples.row_size());
  sum_ranges(samples.x.frames, threads, row, [&](frame_range range, std::span<double> into) {
    read_range(joint_reader(samples), weights, 1, range, [&](auto places, auto given) {
      for (std::size_t i = 0; i < places.size(); ++i)
        into[places[i]] += value_of(given[i], places[i], samples.row_size() - 2);
    });
  });
}

}  // namespace gpuhist
