#include "pipeline/program/resolve_listing.hpp"

#include "config/usage_error.hpp"
#include "pipeline/library/resolve.hpp"
#include "pipeline/library/resolve_formula.hpp"
#include "pipeline/library/resolve_measuring.hpp"
#include "pipeline/program/typed_options.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::pipeline {
namespace {

using kind = input_column::kind;

constexpr std::array columns_with_names = {kind::bytes, kind::lines, kind::share, kind::mostly};

input_column resolve_column(const std::string& option, const std::string& typed, const formula_context& known) {
  for (const kind each : columns_with_names) {
    if (const input_column named{.shows = each}; named.heading() == typed) return named;
  }
  return {.shows = kind::formula, .value = resolve_formula(option, typed, known)};
}

// The first option of the listing that was given; empty: none.
std::string_view first_option(const config::options& typed) {
  if (!typed.columns.empty()) return "--columns";
  if (typed.sort) return "--sort";
  return typed.top ? "--top" : "";
}

void refuse_without_table(const config::options& typed, const report_format& format) {
  const std::string_view option = first_option(typed);
  if (option.empty()) return;
  if (format.name != "table") {
    throw config::usage_error(typed.where(option) + ": is only for --format table; format " + std::string(format.name) +
                              " contains all inputs in their order: leave the option out");
  }
  if (typed.totals_only) {
    throw config::usage_error(typed.where(option) + ": --totals-only leaves out all inputs; give one of the two");
  }
}

}  // namespace

input_listing resolve_listing(const config::options& typed, const counting_options& counting,
                              const report_format& format) {
  refuse_without_table(typed, format);
  input_listing made{.top = typed.top};
  if (typed.columns.empty() && !typed.sort) return made;
  const option_names names = names_of(typed);
  const std::vector<config::scheme> schemes = resolve_schemes(counting, names);
  const measures::measuring measuring = resolve_measuring(counting, names);
  const formula_context known{.schemes = schemes, .measuring = measuring, .names = names, .has_pairs = counting.pairs};
  for (const std::string& each : typed.columns) {
    made.columns.push_back(resolve_column(typed.where("--columns"), each, known));
  }
  if (typed.sort) made.order = resolve_formula(typed.where("--sort"), *typed.sort, known);
  return made;
}

}  // namespace gpuhist::pipeline
