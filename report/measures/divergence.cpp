// The divergence of the distribution of a text from that of a baseline, in bits.
#include "report/measures/functions.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace gpuhist::pipeline::measures {
namespace {

/// The term of a byte value with this share and this share in the reference. A share of 0 adds nothing.
double divergence_of(double share, double reference) { return share == 0 ? 0 : share * std::log2(share / reference); }

/// Adds one half to each count (Jeffreys' prior, the estimator of Krichevsky and Trofimov), so that no share is 0.
double smoothed_share(std::uint64_t count, double all) {
  constexpr double half = 0.5;
  return (static_cast<double>(count) + half) / (all + 256 * half);
}

}  // namespace

// Jensen-Shannon (Lin 1991): the mean divergence of both distributions from their mean.
finding jsd(const sample& measured) {
  const double all = size_of(measured.counts);
  if (all == 0) return finding::none(no_bytes);
  const double all_baseline = size_of(*measured.baseline);
  double bits = 0;
  for (std::size_t byte = 0; byte < measured.counts.size(); ++byte) {
    const double sampled = static_cast<double>(measured.counts[byte]) / all;
    const double expected = static_cast<double>((*measured.baseline)[byte]) / all_baseline;
    const double middle = (sampled + expected) / 2;
    bits += (divergence_of(sampled, middle) + divergence_of(expected, middle)) / 2;
  }
  return {.value = std::clamp(bits, 0.0, 1.0)};  // rounding errors of equal or disjoint distributions
}

finding kl(const sample& measured) {
  const double all = size_of(measured.counts);
  if (all == 0) return finding::none(no_bytes);
  const double all_baseline = size_of(*measured.baseline);
  double bits = 0;
  for (std::size_t byte = 0; byte < measured.counts.size(); ++byte) {
    bits += divergence_of(smoothed_share(measured.counts[byte], all),
                          smoothed_share((*measured.baseline)[byte], all_baseline));
  }
  return {.value = std::max(bits, 0.0)};
}

}  // namespace gpuhist::pipeline::measures
