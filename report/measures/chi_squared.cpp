// Pearson's χ² of the counts: compared with 256 equally frequent values, and with the counts of a baseline.
#include "report/measures/functions.hpp"

#include <boost/math/policies/policy.hpp>
#include <boost/math/special_functions/gamma.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace gpuhist::report::measures {
namespace {

struct statistic {
  double value = 0;
  double freedom = 0;
};

/// A bin: the number of bytes of each of the two samples in it.
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

bin all_of(const sample& measured) {
  return {.sample = size_of(measured.counts), .baseline = size_of(*measured.baseline)};
}

/// One bin per byte value. Bins in which the expected count of a sample is below 5 are merged into one. If that one is
/// still too small, it is merged with the smallest of the others.
std::vector<bin> bins_of(const sample& measured) {
  const bin all = all_of(measured);
  const double smaller_part = std::min(all.sample, all.baseline) / all.both();
  const auto is_large = [&](const bin& each) { return each.both() * smaller_part >= min_expectation; };
  std::vector<bin> bins;
  bin pooled;
  for (std::size_t byte = 0; byte < measured.counts.size(); ++byte) {
    const bin each{.sample = static_cast<double>(measured.counts[byte]),
                   .baseline = static_cast<double>((*measured.baseline)[byte])};
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

statistic against_baseline(const sample& measured, const std::vector<bin>& bins) {
  const bin all = all_of(measured);
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

finding uniform_finding(const sample& measured, reading read) {
  if (size_of(measured.counts) < 256 * min_expectation) return finding::none(small_expectation);
  return {.value = read(against_uniform(measured.counts))};
}

finding baseline_finding(const sample& measured, reading read) {
  if (size_of(measured.counts) == 0) return finding::none(no_bytes);
  const std::vector<bin> bins = bins_of(measured);
  if (bins.size() < 2) return finding::none("fewer than two bins have expected counts of 5");
  return {.value = read(against_baseline(measured, bins))};
}

}  // namespace

double chi_squared_tail(double statistic, double freedom) {
  namespace policies = boost::math::policies;
  using quiet =
      policies::policy<policies::domain_error<policies::ignore_error>, policies::overflow_error<policies::ignore_error>,
                       policies::evaluation_error<policies::ignore_error>>;
  return boost::math::gamma_q(freedom / 2, statistic / 2, quiet());
}

finding chi2(const sample& measured) { return uniform_finding(measured, value_of); }
finding chi2_p(const sample& measured) { return uniform_finding(measured, tail_of); }
finding chi2_baseline(const sample& measured) { return baseline_finding(measured, value_of); }
finding chi2_baseline_p(const sample& measured) { return baseline_finding(measured, tail_of); }

}  // namespace gpuhist::report::measures
