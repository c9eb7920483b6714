// How often a measure has values of each size: a histogram with bins of fixed bounds, so that its counts do not depend
// on the order of the values and those of several runs can be added.
//
//     a double:  | sign | exponent (11 bits) | 3 bits |  ... 49 bits ... |
//                |            its bin                 |
//
// A bin holds the values of one sign and exponent that agree in the first three bits after the point: its bounds are at
// most one eighth apart. 0 has a bin of its own.
#pragma once

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

/// Memory: 128 KiB once a value was added.
class distribution {
 public:
  /// Adds values; unknown ones (NaN) are counted apart.
  void add(std::span<const double> values);

  distribution& operator+=(const distribution& more);

  /// The number of units of each bin with units, by its first bits, and what else is known: two distributions with
  /// equal numbers are equal.
  struct numbers {
    std::vector<std::pair<std::uint16_t, std::uint64_t>> bins{};
    std::uint64_t unknown = 0;
    double lowest = 0;
    double highest = 0;
  };
  [[nodiscard]] numbers divided() const;
  [[nodiscard]] static distribution joined(const numbers& from);

  /// All bins with units, lowest first.
  [[nodiscard]] std::vector<distribution_bin> bins() const;

  [[nodiscard]] std::uint64_t known() const { return known_; }
  [[nodiscard]] std::uint64_t unknown() const { return unknown_; }
  [[nodiscard]] double lowest() const { return lowest_; }    ///< precondition: known() > 0
  [[nodiscard]] double highest() const { return highest_; }  ///< precondition: known() > 0

 private:
  std::vector<std::uint64_t> counts_;  // by the first bits of the value; empty: no value yet
  std::uint64_t known_ = 0;
  std::uint64_t unknown_ = 0;
  double lowest_ = 0;
  double highest_ = 0;
};

}  // namespace gpuhist::report::units
