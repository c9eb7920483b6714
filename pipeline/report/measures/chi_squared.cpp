// Pearson's χ² of the counts: against 256 equally frequent values, and against the counts of a baseline.
#include "pipeline/report/measures/chi_squared_tail.hpp"
#include "pipeline/report/measures/functions.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace gpuhist::pipeline::measures {
namespace {

struct statistic {
  double value = 0;
  double freedom = 0;
};

/// A bin of the two samples: how many bytes of each are in it.
struct bin {
  double sample = 0;
  double baseline = 0;

  [[nodiscard]] double both() const { return sample + baseline; }
  bin& operator+=(const bin& other) {
    sample += other.sample;
    baseline += other.baseline;
    return *this;
  }
};

bin all_of(const sample& of) { return {.sample = size_of(of.counts), .baseline = size_of(*of.baseline)}; }

/// One bin a byte value, those in which one of the samples expects fewer than 5 put together: where that is not enough
/// for 5, with the smallest of the others.
std::vector<bin> bins_of(const sample& of) {
  const bin all = all_of(of);
  const double smaller_part = std::min(all.sample, all.baseline) / all.both();
  const auto is_large = [&](const bin& each) { return each.both() * smaller_part >= min_expectation; };
  std::vector<bin> bins;
  bin pooled;
  for (std::size_t byte = 0; byte < of.counts.size(); ++byte) {
    const bin each{.sample = static_cast<double>(of.counts[byte]),
                   .baseline = static_cast<double>((*of.baseline)[byte])};
    if (is_large(each)) {
      bins.push_back(each);
    } else {
      pooled += each;
    }
  }
  if (pooled.both() == 0) return bins;
  if (is_large(pooled) || bins.empty()) {
    bins.push_back(pooled);
  } else {
    *std::ranges::min_element(bins, {}, &bin::both) += pooled;
  }
  return bins;
}

statistic against_uniform(const byte_counts& counts) {
  const double expected = size_of(counts) / 256;
  statistic found{.freedom = 255};
  for (const std::uint64_t each : counts) {
    found.value += squared_over(static_cast<double>(each) - expected, expected);
  }
  return found;
}

statistic against_baseline(const sample& of, const std::vector<bin>& bins) {
  const bin all = all_of(of);
  statistic found{.freedom = static_cast<double>(bins.size()) - 1};
  for (const bin& each : bins) {
    const double in_sample = each.both() * (all.sample / all.both());
    const double in_baseline = each.both() * (all.baseline / all.both());
    found.value += squared_over(each.sample - in_sample, in_sample);
    found.value += squared_over(each.baseline - in_baseline, in_baseline);
  }
  return found;
}

using reading = double (*)(const statistic&);

double value_of(const statistic& found) { return found.value; }
double tail_of(const statistic& found) { return chi_squared_tail(found.value, found.freedom); }

finding uniform_finding(const sample& of, reading read) {
  if (size_of(of.counts) < 256 * min_expectation) return finding::none(small_expectation);
  return {.value = read(against_uniform(of.counts))};
}

finding baseline_finding(const sample& of, reading read) {
  if (size_of(of.counts) == 0) return finding::none(no_bytes);
  const std::vector<bin> bins = bins_of(of);
  if (bins.size() < 2) return finding::none("fewer than two bins have expected counts of 5");
  return {.value = read(against_baseline(of, bins))};
}

}  // namespace

finding chi2(const sample& of) { return uniform_finding(of, value_of); }
finding chi2_p(const sample& of) { return uniform_finding(of, tail_of); }
finding chi2_baseline(const sample& of) { return baseline_finding(of, value_of); }
finding chi2_baseline_p(const sample& of) { return baseline_finding(of, tail_of); }

}  // namespace gpuhist::pipeline::measures
