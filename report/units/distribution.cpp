#include "report/units/distribution.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <numeric>
#include <tuple>

namespace gpuhist::report::units {
namespace {

constexpr unsigned bits_of_bin = 15;  // sign, exponent, three bits of the fraction
constexpr unsigned more_bits = 5;     // of a fine bin
constexpr unsigned shift = 64 - bits_of_bin - more_bits;
constexpr std::size_t all_bins = std::size_t{1} << bits_of_bin;
constexpr std::size_t first_negative = all_bins / 2;
constexpr std::size_t all_octaves = std::size_t{1} << 12U;  // sign, exponent

double bound_of(std::size_t fine_bin) { return std::bit_cast<double>(static_cast<std::uint64_t>(fine_bin) << shift); }

// The smallest positive numbers share the bin of 0; they are so small that this is right for them.
distribution_bin bounds_of(std::size_t bin, std::uint64_t units) {
  if (bin == 0) return {.from = 0, .to = 0, .units = units};
  const double near = bound_of(bin << more_bits) + 0.0;  // not -0
  const double far = bound_of((bin + 1) << more_bits);
  return bin < first_negative ? distribution_bin{.from = near, .to = far, .units = units}
                              : distribution_bin{.from = far, .to = near, .units = units};
}

}  // namespace

// -0 is 0. Bits of negative values ascend away from 0: without the subtraction, a bin would begin after its lower bound
// and include the upper one.
std::uint32_t distribution::fine_bin_of(double value) {
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(value == 0 ? 0.0 : value) - (value < 0 ? 1 : 0);
  return static_cast<std::uint32_t>(bits >> shift);
}

std::uint64_t& distribution::count_of(std::size_t fine_bin) {
  const std::size_t at = fine_bin / std::tuple_size_v<octave>;
  if (places_.empty()) places_.resize(all_octaves);
  if (places_[at] == 0) {
    counts_.emplace_back();
    places_[at] = static_cast<std::uint16_t>(counts_.size());
  }
  return counts_[places_[at] - 1U][fine_bin % std::tuple_size_v<octave>];
}

void distribution::add(std::span<const double> values) {
  for (const double each : values) {
    if (std::isnan(each)) {
      ++unknown_;
      continue;
    }
    lowest_ = known_ == 0 ? each : std::min(lowest_, each);
    highest_ = known_ == 0 ? each : std::max(highest_, each);
    ++known_;
    ++count_of(fine_bin_of(each));
  }
}

distribution& distribution::operator+=(const distribution& more) {
  for (std::size_t i = 0; i < more.places_.size(); ++i) {
    if (more.places_[i] == 0) continue;
    std::uint64_t* const to = &count_of(i * std::tuple_size_v<octave>);
    const octave& added = more.counts_[more.places_[i] - 1U];
    std::transform(added.begin(), added.end(), to, to, std::plus());
  }
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
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (places_[i] == 0) continue;
    const octave& counts = counts_[places_[i] - 1U];
    for (std::size_t fine = 0; fine < counts.size(); ++fine) {
      if (counts[fine] > 0) made.bins.emplace_back(static_cast<std::uint32_t>(i * counts.size() + fine), counts[fine]);
    }
  }
  return made;
}

distribution distribution::joined(const numbers& from) {
  distribution made;
  for (const auto& [bin, units] : from.bins) {
    made.count_of(bin) = units;
    made.known_ += units;
  }
  made.unknown_ = from.unknown;
  made.lowest_ = from.lowest;
  made.highest_ = from.highest;
  return made;
}

// Bins with units, those of the lowest values first: use(bin, its fine counts).
template <class Use>
void distribution::for_each_bin(Use use) const {
  if (places_.empty()) return;
  const auto use_one = [&](std::size_t bin) {
    const std::size_t place = places_[bin / bins_of_octave];
    if (place == 0) return;
    const std::size_t first = bin % bins_of_octave * fine_bins;
    const std::span<const std::uint64_t> all = counts_[place - 1];
    const fine_counts counts{all.subspan(first, fine_bins)};
    if (std::ranges::any_of(counts, [](std::uint64_t each) { return each > 0; })) use(bin, counts);
  };
  for (std::size_t bin = all_bins - 1; bin >= first_negative; --bin) use_one(bin);
  for (std::size_t bin = 0; bin < first_negative; ++bin) use_one(bin);
}

std::vector<distribution_bin> distribution::bins() const {
  std::vector<distribution_bin> made;
  for_each_bin([&](std::size_t bin, const fine_counts& counts) {
    made.push_back(bounds_of(bin, std::accumulate(counts.begin(), counts.end(), std::uint64_t{0})));
  });
  return made;
}

// The lower bound of the fine bin with the unit of this rank.
double distribution::quantile(double percent) const {
  constexpr double rounding = 1 - 1e-14;  // 99.9 has no exact binary form
  const double wanted = std::max(1.0, std::ceil(percent * static_cast<double>(known_) / 100 * rounding));
  double value = highest_;
  double units = 0;
  for_each_bin([&](std::size_t bin, const fine_counts& counts) {
    const bool is_negative = bin >= first_negative;
    for (std::size_t i = 0; i < fine_bins; ++i) {
      const std::size_t at = is_negative ? fine_bins - 1 - i : i;
      const bool is_before = units < wanted;
      units += static_cast<double>(counts[at]);
      if (is_before && units >= wanted) value = bound_of(bin * fine_bins + at + (is_negative ? 1 : 0));
    }
  });
  return std::clamp(value, lowest_, highest_);
}

}  // namespace gpuhist::report::units
