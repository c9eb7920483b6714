// Formulas and conditions as users type them, resolved with the schemes and measures of the run.
#pragma once

#include "config/scheme.hpp"
#include "library/option_names.hpp"
#include "report/conditions/formula.hpp"
#include "report/measures/measure.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::pipeline {

/// What names refer to. Borrows everything.
struct formula_context {
  std::span<const config::scheme> schemes;
  const measures::measuring& measuring;
  const option_names& names;
  bool has_pairs = false;
  bool has_words = false;                   ///< the number of words of units is counted
  bool of_windows = false;                  ///< the formulas are evaluated for windows
  bool has_malformed = false;               ///< the number of malformed UTF-8 sequences is counted: --utf8, or of units
  std::vector<std::string_view> columns{};  ///< names that are no formulas; for messages
};

/// The value of `option`. Throws config::usage_error for unknown names, and for measures that need a baseline or pairs
/// if there are none.
gates::formula resolve_formula(const std::string& option, const std::string& text, const formula_context& known);
gates::condition resolve_condition(const std::string& option, const std::string& text, const formula_context& known);

}  // namespace gpuhist::pipeline
