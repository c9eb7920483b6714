// Shannon's entropy of the byte values: of the counts themselves, and corrected for the size of the sample.
#include "report/measures/functions.hpp"

#include <cmath>
#include <numbers>

namespace gpuhist::pipeline::measures {
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

}  // namespace gpuhist::pipeline::measures
