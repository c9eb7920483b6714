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
#include <span>
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
  };
  /// The bin of a value in numbers::bins.
  [[nodiscard]] static std::uint32_t fine_bin_of(double value);

  [[nodiscard]] numbers divided() const;
  [[nodiscard]] static distribution joined(const numbers& from);

  /// All bins with units, lowest first.
  [[nodiscard]] std::vector<distribution_bin> bins() const;

  /// The least value that is at least as high as those of `percent` of the units (nearest rank): exact if it is a whole
  /// number of at most 256 or the highest value, otherwise up to 1/256 closer to 0, or of negative values farther from
  /// it. Precondition: known() > 0; percent above 0, at most 100.
  [[nodiscard]] double quantile(double percent) const;

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
};

}  // namespace gpuhist::report::units
