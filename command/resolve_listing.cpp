#include "command/resolve_listing.hpp"

#include "command/typed_options.hpp"
#include "config/usage_error.hpp"
#include "library/resolve.hpp"
#include "library/resolve_formula.hpp"
#include "library/resolve_measuring.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::pipeline {
namespace {

using kind = input_column::kind;

constexpr std::array columns_with_names = {kind::bytes, kind::lines, kind::share, kind::mostly};

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

input_column resolve_column(const std::string& option, const std::string& typed, const formula_context& known) {
  for (const kind each : columns_with_names) {
    if (const input_column named{.type = each}; named.heading() == typed) return named;
  }
  return {.type = kind::formula, .formula = resolve_formula(option, typed, known)};
}

// The share of all bytes gives the same order as the bytes.
gates::formula resolve_order(const std::string& option, const std::string& typed, const formula_context& known) {
  if (typed == "mostly") {
    throw config::usage_error(option + ": mostly is not a number; give a bucket, a measure or a formula");
  }
  return resolve_formula(option, typed == "share" ? "bytes" : typed == "-share" ? "-bytes" : typed, known);
}

// The first option of the listing on the command line; empty: none.
std::string_view first_option(const config::options& typed) {
  const auto is_on_command_line = [&](std::string_view option) { return !typed.origins.contains(option); };
  if (!typed.columns.empty() && is_on_command_line("--columns")) return "--columns";
  if (typed.sort && is_on_command_line("--sort")) return "--sort";
  return typed.top && is_on_command_line("--top") ? "--top" : "";
}

// Whether the report has a table of inputs. If not, an option on the command line is an error; a default in the
// environment or the configuration file has no effect.
bool shows_inputs(const config::options& typed, const report_format& format) {
  const std::string option(first_option(typed));
  if (format.name != "table") {
    if (option.empty()) return false;
    throw config::usage_error(option + ": is only for --format table; format " + std::string(format.name) +
                              " contains all inputs in their order: leave the option out, or give --format table");
  }
  if (typed.totals_only && !option.empty()) {
    throw config::usage_error(option + ": " + typed.where("--totals-only") +
                              " leaves out all inputs; give one of the two");
  }
  return !typed.totals_only;
}

}  // namespace

input_listing resolve_listing(const config::options& typed, const counting_options& counting, bool has_malformed,
                              const report_format& format) {
  if (!shows_inputs(typed, format)) return {};
  input_listing made{.top = typed.top};
  if (typed.columns.empty() && !typed.sort) return made;
  const option_names names = names_of(typed);
  const std::vector<config::scheme> schemes = resolve_schemes(counting, names);
  const measures::measuring measuring = resolve_measuring(counting, names);
  formula_context known{.schemes = schemes,
                        .measuring = measuring,
                        .names = names,
                        .has_pairs = counting.pairs,
                        .has_malformed = has_malformed,
                        .columns = {"share", "mostly"}};
  for (const std::string& each : typed.columns) {
    made.columns.push_back(resolve_column(typed.where("--columns"), trimmed(each), known));
  }
  known.columns = {"share"};
  if (typed.sort) made.order = resolve_order(typed.where("--sort"), trimmed(*typed.sort), known);
  return made;
}

}  // namespace gpuhist::pipeline
