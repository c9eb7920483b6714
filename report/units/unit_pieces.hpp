// Units that a device measures in pieces (gpu/cuda/units/piece_classes.hpp): which classes of bytes it counts so that
// the formulas of a plan have values, and how the counts of these classes become those of units.
#pragma once

#include "config/expression.hpp"
#include "gpu/cuda/units/piece_classes.hpp"
#include "gpu/host/unit_rows.hpp"
#include "gpu/tally.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gpuhist::report::units {

/// The value of a name in a formula, from the row of a unit.
struct name_source {
  enum class kind : std::uint8_t { bytes, count, share, fact };

  kind type = kind::bytes;
  std::size_t column = 0;  ///< of the row; not for bytes. Of a fact: its index
};

/// Immutable when it is set up. Any thread may use it.
class unit_pieces {
 public:
  /// `columns`: of the rows of units, without words. `partition`: of the records of reported units. Nothing: the
  /// classes that all of them share are too many.
  static std::optional<unit_pieces> make(const gpu::host::unit_columns& columns, const gpu::partition& partition,
                                         std::byte delimiter);

  /// Lines in which strings are searched, and no formula needs their bytes. Nothing: a device does not search them.
  static std::optional<unit_pieces> with_strings(const std::vector<gpu::cuda::units::searched_string>& strings);

  /// Has the device omit the rows of units for which the condition does not hold, if it is short enough. `names`: one
  /// for each reference. Precondition: units are lines, and only the condition needs their rows.
  void omit_unless(const config::expression& condition, std::span<const name_source> names);

  [[nodiscard]] const gpu::cuda::units::piece_classes& classes() const { return classes_; }

  /// The counters of the classes of a unit.
  static constexpr std::size_t max_classes = gpu::cuda::units::piece_classes::max_classes;

  /// The classes of a column of the row of a unit, as bits.
  [[nodiscard]] std::uint32_t classes_of(std::size_t column) const { return columns_[column]; }

  /// Adds counts of classes to counts of byte values. All bytes of a class are counted as one of its values: formulas
  /// and records do not distinguish them.
  template <class Counter>
  void add(std::span<const Counter> counters, gpu::tally& to) const {
    for (std::size_t i = 0; i < values_.size(); ++i) to.counts[values_[i]] += counters[i];
  }

 private:
  explicit unit_pieces(const gpu::cuda::units::piece_classes& classes) : classes_(classes) {}

  gpu::cuda::units::piece_classes classes_;
  std::vector<std::uint8_t> values_;    // one of each class
  std::vector<std::uint32_t> columns_;  // of each column, its classes as bits
};

}  // namespace gpuhist::report::units
