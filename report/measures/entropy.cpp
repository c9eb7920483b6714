// Shannon's entropy of the byte values (of the counts themselves, and corrected for the size of the sample), and the
// divergence of their distribution from that of a baseline, in bits.
#include "report/measures/functions.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>

namespace gpuhist::report::measures {
namespace {

/// Bits per byte. Precondition: there are bytes.
double plug_in_entropy(const byte_counts& counts) {
  const double all = size_of(counts);
  double bits = 0;
  for (const std::uint64_t each : counts) {
    if (each == 0) continue;
    const double share = static_cast<double>(each) / all;
    bits += share * -std::log2(share);
  }
  return bits + 0.0;  // 0 instead of -0 if only one value occurs
}

/// The term of a byte value with this share and this share in the reference. A share of 0 adds nothing.
double divergence_of(double share, double reference) { return share == 0 ? 0 : share * std::log2(share / reference); }

/// Adds one half to each count (Jeffreys' prior, the estimator of Krichevsky and Trofimov), so that no share is 0.
double smoothed_share(std::uint64_t count, double all) {
  constexpr double half = 0.5;
  return (static_cast<double>(count) + half) / (all + 256 * half);
}

}  // namespace

finding entropy(const sample& measured) {
  if (size_of(measured.counts) == 0) return finding::none(no_bytes);
  return {.value = plug_in_entropy(measured.counts)};
}

// Miller and Madow: with m different values in n bytes, the plug-in estimate is too low by about (m - 1) / 2n nats.
finding entropy_corrected(const sample& measured) {
  const double all = size_of(measured.counts);
  if (all == 0) return finding::none(no_bytes);
  const double bias = (*distinct(measured).value - 1) / (2 * all * std::numbers::ln2);
  return {.value = plug_in_entropy(measured.counts) + bias};
}

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

}  // namespace gpuhist::report::measures
