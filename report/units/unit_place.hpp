// Where a unit is in its input.
#pragma once

#include <cstdint>

namespace gpuhist::report::units {

/// The place of a unit in its input.
struct unit_place {
  std::uint64_t number = 1;  ///< in the input, from 1
  std::uint64_t line = 1;    ///< in which it begins, from 1
  std::uint64_t offset = 0;  ///< of its first byte in the text of the input
  std::uint64_t bytes = 0;

  bool operator==(const unit_place&) const = default;

  /// Makes a place that counts from the end of earlier text count from the beginning of the input. `begin`: where the
  /// earlier text ends.
  void shift(const unit_place& begin) {
    number += begin.number - 1;
    line += begin.line - 1;
    offset += begin.offset;
  }
};

}  // namespace gpuhist::report::units
