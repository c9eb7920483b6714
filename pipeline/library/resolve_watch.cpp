#include "pipeline/library/resolve_watch.hpp"

#include "config/expression.hpp"
#include "config/usage_error.hpp"
#include "pipeline/library/resolve.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::pipeline {
namespace {

using gates::condition;
using gates::gate;

/// What the names of conditions may refer to.
struct known_counts {
  std::span<const config::scheme> schemes;
  const measures::measuring& measuring;
  bool has_pairs = false;
};

condition resolve_condition(const std::string& text, const known_counts& known) {
  condition resolved(config::parse_expression(text, known.schemes), known.schemes);
  const config::reference* const compares = resolved.needs_baseline();
  if (compares != nullptr && !known.measuring.has_baseline()) {
    throw config::usage_error(config::pointing_at(
        compares->typed + " compares with a baseline; give --baseline RESULT.json", text, compares->at));
  }
  const config::reference* const of_pairs = resolved.needs_pairs();
  if (of_pairs != nullptr && !known.has_pairs) {
    throw config::usage_error(
        config::pointing_at(of_pairs->typed + " is a measure of pairs; give --pairs", text, of_pairs->at));
  }
  return resolved;
}

void add_gates(gates::watch_list& to, gate::kind kind, const std::vector<std::string>& typed, const std::string& option,
               const known_counts& known) {
  for (const std::string& each : typed) {
    try {
      to.gates.push_back({.effect = kind, .when = resolve_condition(each, known)});
    } catch (const config::usage_error& error) {
      throw config::usage_error(option + ": " + error.what());
    }
  }
}

void resolve_units(const config::options& typed, gates::watch_list& into) {
  constexpr std::string_view totals = "totals";
  constexpr std::string_view inputs = "inputs";
  constexpr std::string_view windows = "windows";
  if (typed.watch.empty()) return;
  const auto is_named = [&](std::string_view name) {
    return std::ranges::find(typed.watch, name) != typed.watch.end();
  };
  for (const std::string& each : typed.watch) {
    if (each != totals && each != inputs && each != windows) {
      unknown_name(typed.where("--watch"), each, {totals, inputs, windows});
    }
  }
  into.totals = is_named(totals);
  into.inputs = is_named(inputs);
  into.windows = is_named(windows);
  if (!into.totals && !into.inputs && !typed.window) {
    throw config::usage_error(typed.where("--watch") + ": windows requires --window");
  }
}

}  // namespace

gates::watch_list resolve_watch(const config::options& typed, std::span<const config::scheme> schemes,
                                const measures::measuring& measuring) {
  gates::watch_list resolved;
  const known_counts known{.schemes = schemes, .measuring = measuring, .has_pairs = typed.pairs};
  add_gates(resolved, gate::kind::fail, typed.fail_if, typed.where("--fail-if"), known);
  add_gates(resolved, gate::kind::alert, typed.alert_if, typed.where("--alert-if"), known);
  if (!typed.watch.empty() && resolved.gates.empty()) {
    throw config::usage_error(typed.where("--watch") + ": requires --fail-if or --alert-if");
  }
  if (typed.fail_fast && typed.fail_if.empty()) {
    throw config::usage_error(typed.where("--fail-fast") + ": requires --fail-if");
  }
  resolve_units(typed, resolved);
  resolved.fail_fast = typed.fail_fast;
  resolved.growing = typed.follow;
  return resolved;
}

}  // namespace gpuhist::pipeline
