#include "report/units/distribution.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

namespace gpuhist::report::units {
namespace {

constexpr unsigned bits_of_bin = 15;  // sign, exponent, three bits of the fraction
constexpr unsigned shift = 64 - bits_of_bin;
constexpr std::size_t all_bins = std::size_t{1} << bits_of_bin;
constexpr std::size_t first_negative = all_bins / 2;

// -0 is 0. Bits of negative values ascend away from 0: without the subtraction, a bin would begin after its lower bound
// and include the upper one.
std::size_t bin_of(double value) {
  return (std::bit_cast<std::uint64_t>(value == 0 ? 0.0 : value) - (value < 0 ? 1 : 0)) >> shift;
}

double bound_of(std::size_t bin) { return std::bit_cast<double>(static_cast<std::uint64_t>(bin) << shift); }

// The smallest positive numbers share the bin of 0; they are so small that this is right for them.
distribution_bin bounds_of(std::size_t bin, std::uint64_t units) {
  if (bin == 0) return {.from = 0, .to = 0, .units = units};
  const double near = bound_of(bin) + 0.0;  // not -0
  const double far = bound_of(bin + 1);
  return bin < first_negative ? distribution_bin{.from = near, .to = far, .units = units}
                              : distribution_bin{.from = far, .to = near, .units = units};
}

}  // namespace

void distribution::add(std::span<const double> values) {
  if (counts_.empty()) counts_.resize(all_bins);
  for (const double each : values) {
    if (std::isnan(each)) {
      ++unknown_;
      continue;
    }
    lowest_ = known_ == 0 ? each : std::min(lowest_, each);
    highest_ = known_ == 0 ? each : std::max(highest_, each);
    ++known_;
    ++counts_[bin_of(each)];
  }
}

distribution& distribution::operator+=(const distribution& more) {
  if (more.counts_.empty()) return *this;
  if (counts_.empty()) counts_.resize(all_bins);
  std::ranges::transform(counts_, more.counts_, counts_.begin(), std::plus());
  if (more.known_ > 0) {
    lowest_ = known_ == 0 ? more.lowest_ : std::min(lowest_, more.lowest_);
    highest_ = known_ == 0 ? more.highest_ : std::max(highest_, more.highest_);
  }
  known_ += more.known_;
  unknown_ += more.unknown_;
  return *this;
}

distribution::numbers distribution::divided() const {
  numbers made{.bins = {}, .unknown = unknown_, .lowest = lowest_, .highest = highest_};
  for (std::size_t bin = 0; bin < counts_.size(); ++bin) {
    if (counts_[bin] > 0) made.bins.emplace_back(static_cast<std::uint16_t>(bin), counts_[bin]);
  }
  return made;
}

distribution distribution::joined(const numbers& from) {
  distribution made;
  if (!from.bins.empty() || from.unknown > 0) made.counts_.resize(all_bins);
  for (const auto& [bin, units] : from.bins) {
    made.counts_.at(bin) = units;
    made.known_ += units;
  }
  made.unknown_ = from.unknown;
  made.lowest_ = from.lowest;
  made.highest_ = from.highest;
  return made;
}

std::vector<distribution_bin> distribution::bins() const {
  std::vector<distribution_bin> made;
  if (counts_.empty()) return made;
  for (std::size_t bin = all_bins - 1; bin >= first_negative; --bin) {
    if (counts_[bin] > 0) made.push_back(bounds_of(bin, counts_[bin]));
  }
  for (std::size_t bin = 0; bin < first_negative; ++bin) {
    if (counts_[bin] > 0) made.push_back(bounds_of(bin, counts_[bin]));
  }
  return made;
}

}  // namespace gpuhist::report::units
