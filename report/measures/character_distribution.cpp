// The idealized character distribution of Kruegel and Vigna (Anomaly Detection of Web-Based Attacks, CCS 2003, section
// 4.2): compares the frequencies of a text, sorted from the highest to the lowest, with the sorted frequencies of the
// baseline. The byte values themselves do not matter.
#include "report/measures/functions.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <optional>

namespace gpuhist::report::measures {
namespace {

/// Ends of the six bins of ranks: [0] [1-3] [4-6] [7-11] [12-15] [16-255].
constexpr std::array<std::size_t, 6> bin_ends = {1, 4, 7, 12, 16, 256};
constexpr double freedom = bin_ends.size() - 1;

using rank_bins = std::array<double, bin_ends.size()>;

/// Sums of the counts in each bin, sorted by frequency, the highest first.
rank_bins bins_of(byte_counts counts) {
  std::ranges::sort(counts, std::greater<>{});
  rank_bins bins{};
  std::size_t rank = 0;
  for (std::size_t i = 0; i < bin_ends.size(); ++i) {
    for (; rank < bin_ends[i]; ++rank) bins[i] += static_cast<double>(counts[rank]);
  }
  return bins;
}

/// No value if the expected count of a bin is too small.
std::optional<double> statistic_of(const sample& measured) {
  const rank_bins found = bins_of(measured.counts);
  const rank_bins ideal = bins_of(*measured.baseline);
  const double scale = size_of(measured.counts) / size_of(*measured.baseline);
  double sum = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double expected = ideal[i] * scale;
    if (expected < min_expectation) return std::nullopt;
    sum += squared_over(found[i] - expected, expected);
  }
  return sum;
}

}  // namespace

finding icd(const sample& measured) {
  if (size_of(measured.counts) == 0) return finding::none(no_bytes);
  const std::optional<double> found = statistic_of(measured);
  return found ? finding{.value = found} : finding::none(small_expectation);
}

finding icd_p(const sample& measured) {
  finding found = icd(measured);
  if (found.value) found.value = chi_squared_tail(*found.value, freedom);
  return found;
}

}  // namespace gpuhist::report::measures
