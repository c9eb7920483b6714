// Shannon's entropy of the byte values, as they were counted and corrected for the size of the sample.
#include "pipeline/report/measures/functions.hpp"

#include <cmath>
#include <numbers>

namespace gpuhist::pipeline::measures {
namespace {

/// Bits a byte. Precondition: there are bytes.
double plug_in_entropy(const byte_counts& counts) {
  const double all = size_of(counts);
  double bits = 0;
  for (const std::uint64_t each : counts) {
    if (each == 0) continue;
    const double share = static_cast<double>(each) / all;
    bits += share * -std::log2(share);
  }
  return bits + 0.0;  // of one value: 0 instead of -0
}

}  // namespace

finding entropy(const sample& of) {
  if (size_of(of.counts) == 0) return finding::none(no_bytes);
  return {.value = plug_in_entropy(of.counts)};
}

// Miller and Madow: the plug-in estimate is too low by about (m - 1) / 2n nats, of m values seen among n bytes.
finding entropy_corrected(const sample& of) {
  const double all = size_of(of.counts);
  if (all == 0) return finding::none(no_bytes);
  const double bias = (*distinct(of).value - 1) / (2 * all * std::numbers::ln2);
  return {.value = plug_in_entropy(of.counts) + bias};
}

}  // namespace gpuhist::pipeline::measures
