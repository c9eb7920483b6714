// Evaluates an expression for many units at once, column by column, so that a unit costs a few nanoseconds.
#pragma once

#include "config/expression.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace gpuhist::pipeline::gates {

/// A number that is not known: a comparison with it is unknown, too. A truth value is 1 or 0, by Kleene's logic:
/// !unknown is unknown, false && unknown is false, true || unknown is true.
[[nodiscard]] double unknown();
[[nodiscard]] bool is_unknown(double value);

/// One thread at a time; keeps its buffers.
class evaluation {
 public:
  /// The most units of one call.
  static constexpr std::size_t max_units = 256;

  /// Borrows the expression.
  explicit evaluation(const config::expression& typed);

  /// `names[r][i]` is the value of reference r for unit i, or unknown(). Returns the values of the expression for
  /// `units` units, at most max_units, until the next call. Results that are not finite are unknown.
  std::span<const double> values(std::span<const double* const> names, std::size_t units);

 private:
  const config::expression& typed_;
  std::vector<double> stack_;  // by depth: max_units values
};

}  // namespace gpuhist::pipeline::gates
