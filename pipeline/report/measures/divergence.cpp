// How far the distribution of a text is from that of a baseline, in bits.
#include "pipeline/report/measures/functions.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace gpuhist::pipeline::measures {
namespace {

/// What a value with this share adds, against a reference's share of it. A share of 0 adds nothing.
double divergence_of(double share, double reference) { return share == 0 ? 0 : share * std::log2(share / reference); }

/// Add one half to each count (Jeffreys' prior, the estimator of Krichevsky and Trofimov), so that no share is 0.
double smoothed_share(std::uint64_t count, double all) {
  constexpr double half = 0.5;
  return (static_cast<double>(count) + half) / (all + 256 * half);
}

}  // namespace

// Jensen and Shannon (Lin 1991): the mean divergence of both from the distribution in their middle.
finding jsd(const sample& of) {
  const double all = size_of(of.counts);
  if (all == 0) return finding::none(no_bytes);
  const double all_baseline = size_of(*of.baseline);
  double bits = 0;
  for (std::size_t byte = 0; byte < of.counts.size(); ++byte) {
    const double sampled = static_cast<double>(of.counts[byte]) / all;
    const double expected = static_cast<double>((*of.baseline)[byte]) / all_baseline;
    const double middle = (sampled + expected) / 2;
    bits += (divergence_of(sampled, middle) + divergence_of(expected, middle)) / 2;
  }
  return {.value = std::clamp(bits, 0.0, 1.0)};  // what rounding leaves of equal or disjoint ones
}

finding kl(const sample& of) {
  const double all = size_of(of.counts);
  if (all == 0) return finding::none(no_bytes);
  const double all_baseline = size_of(*of.baseline);
  double bits = 0;
  for (std::size_t byte = 0; byte < of.counts.size(); ++byte) {
    bits += divergence_of(smoothed_share(of.counts[byte], all), smoothed_share((*of.baseline)[byte], all_baseline));
  }
  return {.value = std::max(bits, 0.0)};
}

}  // namespace gpuhist::pipeline::measures
