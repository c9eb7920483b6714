// How often a measure has values of each size: a histogram with bins of fixed bounds, so that its counts do not depend
// on the order of the values and those of several runs can be added.
//
//     a double:  | sign | exponent (11 bits) | 3 bits | 5 bits |  ... 44 bits ... |
//                |            its bin                 |
//                |            its fine bin                     |
//
// A bin holds the values of one sign and exponent that agree in the first three bits after the point: its bounds are at
// most one eighth apart. 0 has a bin of its own. A fine bin, for quantiles, has bounds that are at most 1/256 apart:
// each whole number below 512 begins one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gpuhist::report::units {

/// Values from `from` on, below `to`; for the bin of 0 both are 0.
struct distribution_bin {
  double from = 0;
  double to = 0;
  std::uint64_t units = 0;

  bool operator==(const distribution_bin&) const = default;
};

/// The value that `percent` of all units do not exceed.
struct distribution_quantile {
  double percent = 0;
  double value = 0;
};

/// The sum of values that are rounded to six digits after the point: exact, in whatever order they are added. It is
/// unknown if the positive values, or the negative ones, sum up to 2^62 or more.
class value_sum {
 public:
  /// The size of one value or of several of one sign: whole numbers, and millionths, which may be more than 10^6.
  struct magnitude {
    std::uint64_t whole = 0;
    std::uint64_t millionths = 0;

    static magnitude of(double value);
    /// Unknown sums stay unknown.
    magnitude& operator+=(const magnitude& more);
    [[nodiscard]] bool is_known() const { return whole < limit; }

    static constexpr std::uint64_t limit = std::uint64_t{1} << 62U;
  };

  void add(double value) { add(magnitude::of(value), value < 0); }
  void add(const magnitude& more, bool are_negative) { (are_negative ? negative_ : positive_) += more; }
  value_sum& operator+=(const value_sum& more) {
    positive_ += more.positive_;
    negative_ += more.negative_;
    return *this;
  }

  /// In decimal, exact: "-12.25"; nothing: unknown.
  [[nodiscard]] std::optional<std::string> text() const;
  /// The double that is closest to it.
  [[nodiscard]] std::optional<double> value() const;

  [[nodiscard]] const magnitude& positive() const { return positive_; }
  [[nodiscard]] const magnitude& negative() const { return negative_; }

 private:
  magnitude positive_;
  magnitude negative_;
};

/// What is known of the values of a formula of many units.
struct value_summary {
  std::uint64_t units = 0;          ///< with a value
  std::uint64_t without_value = 0;  ///< units
  value_sum sum{};
  std::vector<distribution_quantile> quantiles{};  ///< of these values; none without values, or if they are not known

  /// Nothing: unknown, or without values.
  [[nodiscard]] std::optional<double> total() const { return units > 0 ? sum.value() : std::nullopt; }
  [[nodiscard]] std::optional<double> mean() const;
  [[nodiscard]] std::optional<double> quantile(double percent) const;

  /// Quantiles of both together are not known.
  value_summary& operator+=(const value_summary& more);
};

/// Memory: 8 KiB once a value was added, and 2 KiB for each exponent of values.
class distribution {
 public:
  /// Adds values; unknown ones (NaN) are counted apart.
  void add(std::span<const double> values);

  distribution& operator+=(const distribution& more);

  /// The number of units of each fine bin with units, by its first bits, and what else is known: two distributions with
  /// equal numbers are equal.
  struct numbers {
    static constexpr std::uint32_t last_bin = (std::uint32_t{1} << 20U) - 1;

    std::vector<std::pair<std::uint32_t, std::uint64_t>> bins{};
    std::uint64_t unknown = 0;
    double lowest = 0;
    double highest = 0;
    value_sum sum{};
  };
  /// The bin of a value in numbers::bins.
  [[nodiscard]] static std::uint32_t fine_bin_of(double value);
  /// Whether its values are negative.
  [[nodiscard]] static bool is_of_negative(std::uint32_t fine_bin);
  /// The sum of that many values of a bin, of which `found` is the sum modulo 2^64.
  [[nodiscard]] static value_sum::magnitude sum_in_bin(std::uint32_t fine_bin, std::uint64_t units,
                                                       value_sum::magnitude found);

  [[nodiscard]] numbers divided() const;
  [[nodiscard]] static distribution joined(const numbers& from);

  /// All bins with units, lowest first.
  [[nodiscard]] std::vector<distribution_bin> bins() const;

  /// The least value that is at least as high as those of `percent` of the units (nearest rank): exact if it is a whole
  /// number of at most 256 or the highest value, otherwise up to 1/256 closer to 0, or of negative values farther from
  /// it. Precondition: known() > 0; percent above 0, at most 100.
  [[nodiscard]] double quantile(double percent) const;

  /// With quantiles of these percents.
  [[nodiscard]] value_summary summary(std::span<const double> percents) const;

  [[nodiscard]] const value_sum& sum() const { return sum_; }
  [[nodiscard]] std::uint64_t known() const { return known_; }
  [[nodiscard]] std::uint64_t unknown() const { return unknown_; }
  [[nodiscard]] double lowest() const { return lowest_; }    ///< precondition: known() > 0
  [[nodiscard]] double highest() const { return highest_; }  ///< precondition: known() > 0

 private:
  static constexpr std::size_t fine_bins = 32;  // of a bin
  static constexpr std::size_t bins_of_octave = 8;
  // The fine bins of the values with one sign and exponent.
  using octave = std::array<std::uint64_t, bins_of_octave * fine_bins>;
  using fine_counts = std::span<const std::uint64_t, fine_bins>;

  std::uint64_t& count_of(std::size_t fine_bin);
  template <class Use>
  void for_each_bin(Use use) const;

  std::vector<std::uint16_t> places_;  // by octave: 1 + its index in counts_; 0: it has no units. Empty: no value yet
  std::vector<octave> counts_;
  std::uint64_t known_ = 0;
  std::uint64_t unknown_ = 0;
  double lowest_ = 0;
  double highest_ = 0;
  value_sum sum_;
};

}  // namespace gpuhist::report::units
