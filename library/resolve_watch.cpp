#include "library/resolve_watch.hpp"

#include <string>
#include <vector>
#include "config/usage_error.hpp"

namespace gpuhist::pipeline {
namespace {

using gates::gate;

void add_gates(gates::watch_list& to, gate::kind kind, const std::vector<std::string>& conditions,
               const std::string& option, const formula_context& known) {
  for (const std::string& each : conditions) {
    to.gates.push_back({.effect = kind, .when = resolve_condition(option, each, known)});
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

gates::watch_list resolve_watch(const counting_options& options, const formula_context& known) {
  gates::watch_list resolved;
  const option_names& names = known.names;
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
