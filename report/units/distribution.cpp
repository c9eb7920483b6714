#include "report/units/distribution.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
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

constexpr std::uint64_t million = 1'000'000;

}  // namespace

value_sum::magnitude value_sum::magnitude::of(double value) {
  const double size = std::abs(value);
  if (size >= static_cast<double>(limit)) return {.whole = limit};
  const double whole = std::floor(size);
  return {.whole = static_cast<std::uint64_t>(whole),
          .millionths = static_cast<std::uint64_t>(std::llround((size - whole) * static_cast<double>(million)))};
}

value_sum::magnitude& value_sum::magnitude::operator+=(const magnitude& more) {
  whole = std::min(whole + more.whole, limit);  // both are at most the limit
  millionths += more.millionths;
  return *this;
}

std::optional<std::string> value_sum::text() const {
  if (!positive_.is_known() || !negative_.is_known()) return std::nullopt;
  magnitude larger{.whole = positive_.whole + positive_.millionths / million,
                   .millionths = positive_.millionths % million};
  magnitude smaller{.whole = negative_.whole + negative_.millionths / million,
                    .millionths = negative_.millionths % million};
  const bool is_negative = std::pair(larger.whole, larger.millionths) < std::pair(smaller.whole, smaller.millionths);
  if (is_negative) std::swap(larger, smaller);
  if (larger.millionths < smaller.millionths) {
    --larger.whole;
    larger.millionths += million;
  }
  std::string made = (is_negative ? "-" : "") + std::to_string(larger.whole - smaller.whole);
  const std::uint64_t millionths = larger.millionths - smaller.millionths;
  if (millionths == 0) return made;
  made += "." + std::to_string(million + millionths).substr(1);
  return made.erase(made.find_last_not_of('0') + 1);
}

std::optional<double> value_sum::value() const {
  const std::optional<std::string> exact = text();
  if (!exact) return std::nullopt;
  double made = 0;
  std::from_chars(exact->data(), exact->data() + exact->size(), made);
  return made;
}

std::optional<double> value_summary::mean() const {
  const std::optional<double> all = total();
  return all ? std::optional(*all / static_cast<double>(units)) : std::nullopt;
}

std::optional<double> value_summary::quantile(double percent) const {
  const auto found = std::ranges::find(quantiles, percent, &distribution_quantile::percent);
  return found == quantiles.end() ? std::nullopt : std::optional(found->value);
}

value_summary& value_summary::operator+=(const value_summary& more) {
  if (units == 0) {
    quantiles = more.quantiles;
  } else if (more.units > 0) {
    quantiles.clear();
  }
  units += more.units;
  without_value += more.without_value;
  sum += more.sum;
  return *this;
}

// -0 is 0. Bits of negative values ascend away from 0: without the subtraction, a bin would begin after its lower bound
// and include the upper one.
std::uint32_t distribution::fine_bin_of(double value) {
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(value == 0 ? 0.0 : value) - (value < 0 ? 1 : 0);
  return static_cast<std::uint32_t>(bits >> shift);
}

bool distribution::is_of_negative(std::uint32_t fine_bin) { return fine_bin >= first_negative << more_bits; }

// The largest value of the bin shows whether there was an overflow.
value_sum::magnitude distribution::sum_in_bin(std::uint32_t fine_bin, std::uint64_t units, value_sum::magnitude found) {
  constexpr double overflow = 0x1p64;
  const double most = std::abs(bound_of(fine_bin + std::size_t{1})) * static_cast<double>(units);
  if (most >= overflow) found.whole = value_sum::magnitude::limit;
  found.whole = std::min(found.whole, value_sum::magnitude::limit);
  return found;
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
    sum_.add(each);
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
  sum_ += more.sum_;
  return *this;
}

distribution::numbers distribution::divided() const {
  numbers made{.bins = {}, .unknown = unknown_, .lowest = lowest_, .highest = highest_, .sum = sum_};
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
    made.count_of(bin) += units;
    made.known_ += units;
  }
  made.unknown_ = from.unknown;
  made.lowest_ = from.lowest;
  made.highest_ = from.highest;
  made.sum_ = from.sum;
  return made;
}

// Bins with units, those of the lowest values first: use(bin, its fine counts).
template <class Use>
void distribution::for_each_bin(Use use) const {
  if (places_.empty()) return;
  const auto use_one = [&](std::size_t octave_at, std::size_t at) {
    const std::span<const std::uint64_t> all = counts_[places_[octave_at] - 1U];
    const fine_counts counts{all.subspan(at * fine_bins, fine_bins)};
    if (std::ranges::any_of(counts, [](std::uint64_t each) { return each > 0; })) {
      use(octave_at * bins_of_octave + at, counts);
    }
  };
  for (std::size_t octave_at = all_octaves; octave_at-- > all_octaves / 2;) {
    for (std::size_t at = bins_of_octave; places_[octave_at] > 0 && at-- > 0;) use_one(octave_at, at);
  }
  for (std::size_t octave_at = 0; octave_at < all_octaves / 2; ++octave_at) {
    for (std::size_t at = 0; places_[octave_at] > 0 && at < bins_of_octave; ++at) use_one(octave_at, at);
  }
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

value_summary distribution::summary(std::span<const double> percents) const {
  value_summary made{.units = known_, .without_value = unknown_, .sum = sum_};
  for (const double each : percents) {
    if (known_ > 0) made.quantiles.push_back({.percent = each, .value = quantile(each)});
  }
  return made;
}

}  // namespace gpuhist::report::units
