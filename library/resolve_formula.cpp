#include "library/resolve_formula.hpp"

#include "config/expression.hpp"
#include "config/usage_error.hpp"

#include <string>
#include <string_view>
#include <utility>

namespace gpuhist::pipeline {
namespace {

void check_needs(const gates::formula& resolved, const std::string& text, const formula_context& known) {
  const config::reference* const compares = resolved.needs_baseline();
  const bool has_baseline =
      known.measuring.baseline != nullptr || (known.measuring.previous_windows && known.of_windows);
  if (compares != nullptr && !has_baseline) {
    const std::string_view cause =
        known.measuring.previous_windows ? ", and only windows are compared with previous windows; give " : "; give ";
    const std::string remedy = known.names.with_placeholder("--baseline", "RESULT.json");
    throw config::usage_error(config::pointing_at(
        compares->typed + " compares with a baseline" + std::string(cause) + remedy, text, compares->at));
  }
  const config::reference* const of_pairs = resolved.needs_pairs();
  if (of_pairs != nullptr && !known.has_pairs) {
    throw config::usage_error(config::pointing_at(
        of_pairs->typed + " is a measure of pairs; give " + known.names.name("--pairs"), text, of_pairs->at));
  }
  const config::reference* const of_words = resolved.needs_words();
  if (of_words != nullptr && !known.has_words) {
    throw config::usage_error(config::pointing_at(
        of_words->typed + " are counted for the units of " + known.names.name("--each") + " only", text, of_words->at));
  }
  const config::reference* const of_utf8 = resolved.needs_malformed();
  if (of_utf8 != nullptr && !known.has_malformed) {
    const std::string option = known.names.name("--utf8");
    const std::string remedy = option.empty() ? ", which is done for files only" : "; give " + option;
    throw config::usage_error(
        config::pointing_at(of_utf8->typed + " needs the text to be validated" + remedy, text, of_utf8->at));
  }
}

gates::formula_wording wording_of(const formula_context& known) {
  gates::formula_wording made{.option_name = known.names.naming(), .names = known.columns};
  if (known.has_words) made.names.emplace_back("words");
  made.names.emplace_back("malformed");
  return made;
}

template <class Formula>
Formula resolved(const std::string& option, const std::string& text, const formula_context& known,
                 config::expression (*parse)(std::string_view, std::span<const config::scheme>)) {
  try {
    Formula made(parse(text, known.schemes), known.schemes, wording_of(known));
    check_needs(made, text, known);
    return made;
  } catch (const config::usage_error& error) {
    throw config::usage_error(option + ": " + error.what());
  }
}

}  // namespace

gates::formula resolve_formula(const std::string& option, const std::string& text, const formula_context& known) {
  return resolved<gates::formula>(option, text, known, config::parse_formula);
}

gates::condition resolve_condition(const std::string& option, const std::string& text, const formula_context& known) {
  return resolved<gates::condition>(option, text, known, config::parse_expression);
}

}  // namespace gpuhist::pipeline
