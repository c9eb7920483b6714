#include "pipeline/library/resolve_watch.hpp"

#include "config/expression.hpp"
#include "config/usage_error.hpp"

#include <string>
#include <vector>

namespace gpuhist::pipeline {
namespace {

using gates::condition;
using gates::gate;

// What names in conditions refer to.
struct meanings {
  std::span<const config::scheme> schemes;
  const measures::measuring& measuring;
  const option_names& names;
  bool has_pairs = false;
};

condition resolve_condition(const std::string& text, const meanings& known) {
  condition resolved(config::parse_expression(text, known.schemes), known.schemes, known.names.naming());
  const config::reference* const compares = resolved.needs_baseline();
  if (compares != nullptr && !known.measuring.has_baseline()) {
    const std::string remedy = known.names.with_placeholder("--baseline", "RESULT.json");
    throw config::usage_error(
        config::pointing_at(compares->typed + " compares with a baseline; give " + remedy, text, compares->at));
  }
  const config::reference* const of_pairs = resolved.needs_pairs();
  if (of_pairs != nullptr && !known.has_pairs) {
    throw config::usage_error(config::pointing_at(
        of_pairs->typed + " is a measure of pairs; give " + known.names.name("--pairs"), text, of_pairs->at));
  }
  return resolved;
}

void add_gates(gates::watch_list& to, gate::kind kind, const std::vector<std::string>& conditions,
               const std::string& option, const meanings& known) {
  for (const std::string& each : conditions) {
    try {
      to.gates.push_back({.effect = kind, .when = resolve_condition(each, known)});
    } catch (const config::usage_error& error) {
      throw config::usage_error(option + ": " + error.what());
    }
  }
}

void resolve_units(const counting_options& options, const option_names& names, gates::watch_list& into) {
  into.totals = options.watch.totals;
  into.inputs = options.watch.inputs;
  into.windows = options.watch.windows;
  if (into.totals || into.inputs || options.windows) return;
  throw config::usage_error(names.where("--watch") + ": windows requires " + names.name("--window"));
}

}  // namespace

gates::watch_list resolve_watch(const counting_options& options, std::span<const config::scheme> schemes,
                                const measures::measuring& measuring, const option_names& names) {
  gates::watch_list resolved;
  const meanings known{.schemes = schemes, .measuring = measuring, .names = names, .has_pairs = options.pairs};
  add_gates(resolved, gate::kind::fail, options.fail_if, names.where("--fail-if"), known);
  add_gates(resolved, gate::kind::alert, options.alert_if, names.where("--alert-if"), known);
  if (options.fail_fast && options.fail_if.empty()) {
    throw config::usage_error(names.where("--fail-fast") + ": requires " + names.name("--fail-if"));
  }
  resolve_units(options, names, resolved);
  resolved.fail_fast = options.fail_fast;
  return resolved;
}

}  // namespace gpuhist::pipeline
