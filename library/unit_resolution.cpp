// Units of text from options: what a unit is, the rules for units, and what is read of them.
#include "config/expression.hpp"
#include "config/option_table.hpp"
#include "config/option_values.hpp"
#include "config/size.hpp"
#include "config/text.hpp"
#include "config/usage_error.hpp"
#include "io/json/json_path.hpp"
#include "library/default_memory_limit.hpp"
#include "library/line_options.hpp"
#include "library/resolve.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuhist::library {

namespace {

// Throws config::usage_error.
void check_text(std::string_view function, const config::placed_text& operand) {
  report::texts::text_fact(function, operand);
}

using kind = unit_options::kind;

std::string name_of(const unit_options& asked) {
  switch (asked.each) {
    case kind::line:
      return "line";
    case kind::record:
      return "record";
    case kind::part:
      return config::format_size(asked.part_bytes);
    case kind::input:
      return "input";
    case kind::window:
      return "window";
    case kind::value:
      return "value";
  }
  return "";
}

report::units::unit_shape shape_of(const unit_options& asked) {
  using form = report::units::unit_shape::form;
  switch (asked.each) {
    case kind::line:
      return {};
    case kind::record:
      return {.delimiter = static_cast<std::byte>(asked.delimiter)};
    case kind::part:
      config::check_range("each", asked.part_bytes);
      return {.bytes = asked.part_bytes};
    case kind::input:
      return {.bytes = report::units::unit_shape::all_bytes};
    case kind::window:
      return {.divides = form::windows};
    case kind::value:
      return {.divides = form::values};
  }
  throw config::option_error("each", "no value of the enumeration");
}

void check_values(const file_options& options, const formula_context& known) {
  if (options.counting.units->each != kind::value) return;
  if (!known.is_fed) {
    throw config::option_error("each", "values are units of a program that feeds them; give line, record or a size");
  }
  if (config::writes_windows(options.counting)) {
    throw config::option_error("window", "cannot be combined with units that are values; leave one of them out");
  }
}

void check_combination(const file_options& options) {
  constexpr std::string_view each = "each";
  if (options.follow && options.counting.units->changes) {
    throw config::option_error("follow", "changes are found at the end of logs; leave it out");
  }
  if (options.utf8 && !options.counting.units->jsonl_field.empty()) {
    throw config::option_error(
        "utf8",
        "describes the whole text, not the field of --jsonl-field, which is always UTF-8 (other lines are without "
        "field); leave one of them out");
  }
  if (options.counting.units->each == kind::window && !config::writes_windows(options.counting)) {
    throw config::option_error(each, "window requires --window");
  }
}

void check_filter(const file_options& options) {
  const unit_options& asked = *options.counting.units;
  const bool drops_duplicates = asked.duplicates == duplicate_units::drop && asked.filter == unit_filter::drop;
  if (!asked.selects() && !drops_duplicates) {
    throw config::usage_error("unit_options::filter: requires unit_options::where");
  }
  if (asked.each == kind::window) {
    throw config::option_error("each", "units of a filter are lines, records, parts of a text, or inputs");
  }
  if (options.skip_damage && options.utf8) {
    throw config::option_error(
        "utf8", "cannot be combined with unit_options::filter and --skip-damage, which hold text until it is verified");
  }
  if (options.skip_damage && config::writes_windows(options.counting) && !names_of_matches(options.counting).empty()) {
    throw config::option_error("skip-damage",
                               "cannot be combined with unit_options::filter, --match and --window, which are written "
                               "before their text is verified; leave one of them out");
  }
}

// Of a line that is read. Reading a field takes up to 16 times its bytes, at one time for one long line only. A line
// that is not complete is held for each open input.
std::uint64_t longest_line(const counting_options& options) {
  constexpr std::uint64_t share_of_memory = 64;
  constexpr std::uint64_t most = std::uint64_t{2} << 30U;  // texts::text_reader::max_bytes; simdjson takes 4 GiB
  return std::min(std::bit_floor(memory_limit_of(options) / share_of_memory), most);
}

std::optional<report::units::field_of_lines> field_of(const counting_options& options) {
  const unit_options& asked = *options.units;
  if (asked.jsonl_field.empty()) return std::nullopt;
  constexpr std::string_view option = "jsonl-field";
  if (asked.each != kind::line) throw config::option_error(option, "requires --each line");
  if (!config::is_utf8(asked.jsonl_field)) throw config::option_error(option, "the name of the field is not UTF-8");
  try {
    static_cast<void>(io::parse_json_path(asked.jsonl_field));
  } catch (const std::invalid_argument& error) {
    throw config::option_error(option, error.what());
  }
  const bool is_filter = asked.filter != unit_filter::none;
  const bool is_kept = asked.without_field == missing_field::keep;
  if (is_kept && !is_filter) {
    throw config::option_error("without-field", "keep is for filters; give fail, or leave the option out");
  }
  const bool has_fate = is_filter && asked.without_field != missing_field::by_condition;
  return report::units::field_of_lines{.name = asked.jsonl_field,
                                       .max_bytes = longest_line(options),
                                       .selects_missing = has_fate && is_kept == (asked.filter == unit_filter::keep),
                                       .must_exist = asked.without_field == missing_field::fail};
}

// The records of ranked units are held in memory.
void check_memory(const counting_options& options) {
  constexpr std::uint64_t bytes_of_unit = 3072;  // with counts of 256 values: measured
  constexpr std::uint64_t share_of_memory = 4;
  const std::uint64_t limit = memory_limit_of(options);
  if (options.units->top * bytes_of_unit <= limit / share_of_memory) return;
  throw config::option_error(
      "top", config::number_of(options.units->top, "unit") + " may need " +
                 config::format_size(options.units->top * bytes_of_unit) + " of memory; give at most " +
                 std::to_string(limit / share_of_memory / bytes_of_unit) + ", or a higher --memory-limit");
}

// Units are not counted by pairs, inputs and windows not by words, and windows not by UTF-8 sequences.
void check_names(const report::gates::formula& used, std::string_view option, const report::units::unit_shape& shape) {
  const auto refuse = [&](const config::reference& at, std::string_view cause) {
    throw config::option_error(option, config::pointing_at(at.typed + std::string(cause), used.text(), at.at));
  };
  if (const config::reference* const pairs = used.needs_pairs())
    refuse(*pairs, " is a measure of pairs, which units do not have");
  if (const config::reference* const words = used.needs_words(); words != nullptr && !shape.divides_text()) {
    refuse(*words, " are counted in lines, records, parts and inputs only");
  }
  const config::reference* const utf8 = used.needs_malformed();
  if (utf8 != nullptr && shape.divides == report::units::unit_shape::form::windows) {
    refuse(*utf8, " is counted in lines, records, parts and inputs only");
  }
}

// The option whose condition has this number of values.
std::string_view option_of(const report::gates::watch_list& list, const report::gates::line_fact& fact) {
  using report::gates::gate;
  const auto is_it = [&](const config::reference& each) {
    return each.is_of_values() && each.parts.front() == fact.of;
  };
  const auto found = std::ranges::find_if(
      list.gates, [&](const gate& each) { return std::ranges::any_of(each.when.typed().references, is_it); });
  return found == list.gates.end() || found->effect == gate::kind::fail ? "fail-if" : "alert-if";
}

// Whether an input as a unit needs more than its counts, which are known at its end.
bool reads_whole_texts(const report::units::unit_plan& planned, const report::gates::line_names& names,
                       bool counts_malformed) {
  const auto reads = [&](const report::gates::formula& each) {
    return each.needs_words() != nullptr || (each.needs_malformed() != nullptr && !counts_malformed);
  };
  return !names.used.empty() || planned.filter || planned.duplicates || (planned.where && reads(*planned.where)) ||
         (planned.top && reads(planned.top->by)) || (planned.distribution && reads(*planned.distribution));
}

// Adds a formula, each once.
void add_watched(report::units::watched_values& to, const asked_value& asked, const formula_context& of_units,
                 const report::units::unit_shape& shape) {
  const auto found = std::ranges::find(to.formulas, asked.of.of, &report::gates::formula::text);
  const auto at = static_cast<std::size_t>(found - to.formulas.begin());
  if (at == to.formulas.size()) {
    to.formulas.push_back(resolve_formula(asked.option, asked.of.of, of_units));
    check_names(to.formulas.back(), asked.option, shape);
    to.percents.emplace_back();
  }
  std::vector<double>& percents = to.percents[at];
  const bool is_quantile = asked.of.type == report::gates::line_fact::kind::quantile;
  if (is_quantile && std::ranges::find(percents, asked.of.percent) == percents.end()) {
    percents.push_back(asked.of.percent);
  }
}

// The values of --distribution-of in groups and windows, its quantiles first.
std::vector<asked_value> values_of_groups(const counting_options& options) {
  using report::gates::line_fact;
  const unit_options& units = *options.units;
  std::vector<asked_value> made;
  if (units.distribution_of.empty() || (units.group_by.empty() && !has_event_windows(options))) return made;
  made.push_back({.option = "distribution-of", .of = {.type = line_fact::kind::sum, .of = units.distribution_of}});
  for (const double each : units.quantiles) {
    made.push_back({.option = "distribution-of",
                    .of = {.type = line_fact::kind::quantile, .of = units.distribution_of, .percent = each}});
  }
  return made;
}

// The formulas that are reported, then those of conditions.
report::units::watched_values resolve_watched(const report::gates::watch_list& list,
                                              const std::vector<asked_value>& of_groups,
                                              std::span<const asked_value> reported, const formula_context& of_units,
                                              const report::units::unit_shape& shape) {
  report::units::watched_values made;
  for (const asked_value& each : of_groups) add_watched(made, each, of_units, shape);
  for (const asked_value& each : reported) add_watched(made, each, of_units, shape);
  made.reported = made.formulas.size();
  for (const report::gates::line_fact& each : list.facts) {
    if (!each.is_of_values()) continue;
    add_watched(made, {.option = option_of(list, each), .of = each}, of_units, shape);
    made.conditions.push_back(each);
  }
  return made;
}

// The same rule counts once.
std::vector<report::units::unit_rule> resolve_rules(const unit_options& asked, const formula_context& of_units,
                                                    const report::units::unit_shape& shape) {
  constexpr std::string_view option = "where";
  std::vector<std::string> typed = asked.rules;
  if (!asked.where.empty()) typed.insert(typed.begin(), asked.where);
  std::vector<report::units::unit_rule> made;
  for (const std::string& each : typed) {
    const config::named_condition rule = config::parse_rule(each);
    const auto earlier = std::ranges::find(made, rule.name, &report::units::unit_rule::name);
    if (earlier != made.end() && earlier->when.text() == rule.condition) continue;
    if (earlier != made.end() || rule.name == report::units::rule_of_missing_field ||
        (asked.duplicates == duplicate_units::drop && rule.name == report::units::rule_of_duplicates)) {
      throw config::option_error(option,
                                 "another rule has the name " + config::quote(rule.name) + "; give another name");
    }
    try {
      made.push_back({.name = rule.name, .when = resolve_condition(option, rule.condition, of_units)});
    } catch (const config::option_error& error) {
      if (rule.name == config::trimmed(each)) throw;
      throw config::option_error(option, error.error() + "\n    (" + config::quote(rule.name) +
                                             " before = is the name of the rule; for 'is equal to' give ==)");
    }
    check_names(made.back().when, option, shape);
  }
  return made;
}

// A step that is typed twice is done twice, and has a number in its name then. One with a name is done once.
std::vector<report::texts::rewriting_step> resolve_rewriting(const unit_options& asked) {
  constexpr std::string_view option = "rewrite";
  if (!asked.rewrite.empty() && asked.jsonl_field.empty()) {
    throw config::option_error(option,
                               asked.each == kind::value
                                   ? "values are rewritten before they are fed: pass them to text_rewriter"
                                   : "rewrites the text of --jsonl-field; give the field, as --jsonl-field text");
  }
  std::vector<report::texts::rewriting_step> made;
  for (const std::string& each : asked.rewrite) {
    try {
      report::texts::rewriting_step step = report::texts::parse_rewriting_step(each);
      const bool has_name = step.name != step.typed;
      const auto earlier = std::ranges::find(made, step.name, &report::texts::rewriting_step::name);
      if (earlier != made.end() && has_name && earlier->typed == step.typed) continue;
      if (earlier != made.end() && has_name) {
        throw config::usage_error("another step has the name " + config::quote(step.name) + "; give another name");
      }
      const auto times = std::ranges::count(made, step.typed, &report::texts::rewriting_step::typed);
      if (earlier != made.end()) step.name += " (" + std::to_string(times + 1) + ")";
      made.push_back(std::move(step));
    } catch (const config::usage_error& error) {
      throw config::option_error(option, error.what());
    }
  }
  return made;
}

// The rule that drops duplicates has a name, and a condition that never holds: it is set for a unit that was looked up.
report::units::unit_rule rule_for_duplicates(const formula_context& of_units) {
  config::expression never = config::parse_expression("0 > 1");
  never.text = report::units::rule_of_duplicates;
  return {.name = report::units::rule_of_duplicates,
          .when = {never, of_units.schemes, possible_names(of_units), of_units.lines}};
}

std::optional<report::units::duplicate_search> resolve_duplicates(const file_options& options,
                                                                  const report::units::unit_shape& shape) {
  const unit_options& asked = *options.counting.units;
  constexpr std::string_view option = "duplicates";
  if (asked.duplicates == duplicate_units::ignored) return std::nullopt;
  if (!shape.divides_text()) {
    throw config::option_error(option,
                               "units with equal texts are found among lines, records, parts and inputs; give --each "
                               "line, record, input or a size");
  }
  const bool are_dropped = asked.duplicates == duplicate_units::drop;
  if (are_dropped && asked.filter == unit_filter::none) {
    throw config::option_error(option, "drop is for filters; give count");
  }
  if (are_dropped && options.follow) {
    throw config::option_error("follow",
                               "cannot be combined with --duplicates drop, which reads inputs to their end, "
                               "one after the other; leave one of them out");
  }
  return report::units::duplicate_search{
      .are_dropped = are_dropped,
      .spilled_to = {.path = options.counting.temporary_folder, .content = "hashes of texts"}};
}

std::optional<report::units::signature_plan> resolve_signatures(const file_options& options, bool is_fed) {
  const unit_options& asked = *options.counting.units;
  if (asked.minhash_folder.empty()) return std::nullopt;
  constexpr std::string_view option = "minhash";
  if (asked.jsonl_field.empty()) throw config::option_error(option, "requires --jsonl-field");
  if (is_fed) throw config::option_error(option, "signatures are those of files");
  if (asked.filter != unit_filter::none) {
    throw config::option_error(option, "signatures are those of all documents; count the text that the filter wrote");
  }
  if (options.follow) {
    throw config::option_error("follow", "signatures are written at the end of an input; leave it out");
  }
  return report::units::signature_plan{
      .folder = asked.minhash_folder,
      .spilled_to = {.path = options.counting.temporary_folder, .content = "signatures of documents"}};
}

report::gates::condition any_of(const std::vector<report::units::unit_rule>& rules, const formula_context& of_units) {
  if (rules.size() == 1) return rules.front().when;
  std::vector<config::expression> typed;
  for (const report::units::unit_rule& each : rules) typed.push_back(each.when.typed());
  return {config::any_of(typed), of_units.schemes, possible_names(of_units), of_units.lines};
}

}  // namespace

std::shared_ptr<const report::units::unit_plan> resolve_units(const file_options& options, const formula_context& known,
                                                              const report::gates::watch_list& watched,
                                                              std::span<const asked_value> reported) {
  if (!options.counting.units) return nullptr;
  const unit_options& asked = *options.counting.units;
  check_combination(options);
  check_values(options, known);
  formula_context of_units = known;
  of_units.has_words = true;
  of_units.has_pairs = true;  // refused below, with another remedy
  const std::shared_ptr<const report::lines::match_set> matches = resolve_matches(asked);
  report::gates::line_names names{.matches = {}, .check_text = check_text};
  for (std::size_t i = 0; matches && i < matches->size(); ++i) names.matches.push_back(matches->expressions()[i].name);
  report::units::unit_plan made{.shape = shape_of(asked), .each = name_of(asked), .field = field_of(options.counting)};
  if (known.is_fed && made.field && made.field->must_exist) {
    throw config::option_error("without-field", "fail is for files; compare unit_summary::without_field with 0");
  }
  made.rewriting = resolve_rewriting(asked);
  names.has_numbers = made.shape.are_delimited();
  if (made.shape.divides_text() && (!made.shape.bytes || made.shape.are_whole_texts())) of_units.lines = &names;
  of_units.of_windows = made.shape.divides == report::units::unit_shape::form::windows;
  // in windows, they are refused below, with another remedy
  of_units.has_malformed = true;
  made.duplicates = resolve_duplicates(options, made.shape);
  made.signatures = resolve_signatures(options, known.is_fed);
  made.rules = resolve_rules(asked, of_units, made.shape);
  if (made.drops_duplicates() && asked.filter == unit_filter::drop) made.rules.push_back(rule_for_duplicates(of_units));
  if (!made.rules.empty()) made.where = any_of(made.rules, of_units);
  if (asked.filter != unit_filter::none) {
    check_filter(options);
    using kept = report::units::filtering::kept;
    made.filter = {.units = asked.filter == unit_filter::keep ? kept::selected : kept::others,
                   .drops_unverified = options.skip_damage,
                   .spilled_to = {.path = options.counting.temporary_folder, .content = "units that are not complete"}};
  }
  if (asked.top > 0 || !asked.top_by.empty()) {
    constexpr std::string_view option = "top";
    config::check_range(option, asked.top);
    made.top = {.number = asked.top, .by = resolve_formula(option, asked.top_by, of_units)};
    check_names(made.top->by, option, made.shape);
    check_memory(options.counting);
  }
  if (!asked.distribution_of.empty()) {
    made.distribution = resolve_formula("distribution-of", asked.distribution_of, of_units);
    check_names(*made.distribution, "distribution-of", made.shape);
    if (!std::ranges::all_of(asked.quantiles, config::is_percent)) {
      throw config::option_error("quantiles", "each is above 0 and at most 100 percent, such as 99.9");
    }
    made.quantiles = asked.quantiles;
  }
  made.watched = resolve_watched(watched, values_of_groups(options.counting), reported, of_units, made.shape);
  made.watched.in_windows = watched.windows && has_event_windows(options.counting);
  if (made.shape.are_whole_texts() && !reads_whole_texts(made, names, known.has_malformed)) {
    made.shape = {.divides = report::units::unit_shape::form::inputs};
  }
  made.shows_text = asked.show_text && made.shape.divides_text();
  made.lines = resolve_lines(options.counting, matches, names, longest_line(options.counting));
  if (made.lines) made.lines->shown_matches = watched.shown_matches;
  resolve_lateness(options, known.is_fed, made.lines);
  return std::make_shared<const report::units::unit_plan>(std::move(made));
}

}  // namespace gpuhist::library
