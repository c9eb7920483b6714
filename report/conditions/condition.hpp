// A condition of --fail-if or --alert-if whose names are resolved.
#pragma once

#include "report/conditions/formula.hpp"

#include <optional>

namespace gpuhist::pipeline::gates {

/// True, false, or nothing: unknown, because a name that decides it has no value.
using verdict = std::optional<bool>;

/// A formula whose value is a truth value (config::parse_expression).
class condition : public formula {
 public:
  using formula::formula;

  [[nodiscard]] verdict holds_for(const watched_counts& checked) const {
    const std::optional<double> found = value(checked);
    return found ? verdict(*found == 1.0) : verdict{};
  }
};

}  // namespace gpuhist::pipeline::gates
