// Computes the values of expressions from those of their names.
#pragma once

#include "config/expression.hpp"
#include "gpu/formula_values.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace gpuhist::report::gates {

using gpu::formula_values::is_unknown;
using gpu::formula_values::unknown;

/// Evaluates an expression for many units at once, column by column, so that a unit costs a few nanoseconds. One thread
/// at a time; keeps its buffers.
class evaluation {
 public:
  /// The most units of one call, if no other number is given.
  static constexpr std::size_t max_units = 256;

  /// Borrows the expression. `room`: the most units of one call.
  explicit evaluation(const config::expression& typed, std::size_t room = max_units);

  /// `names[r][i]` is the value of reference r for unit i, or unknown. Returns the values of the expression for
  /// `units` units until the next call; if the expression is a name, those in `names`. Results that are not finite are
  /// unknown.
  std::span<const double> values(std::span<const double* const> names, std::size_t units);

 private:
  const config::expression& typed_;
  const std::size_t room_;
  std::vector<double> constants_;        // in the order of their steps: room_ times each
  std::vector<const double*> operands_;  // by depth: room_ values
  std::vector<double> results_;          // by depth: room_ values
};

}  // namespace gpuhist::report::gates
