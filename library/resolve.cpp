#include "library/resolve.hpp"

#include "config/expression.hpp"
#include "config/option_table.hpp"
#include "config/option_values.hpp"
#include "config/size.hpp"
#include "config/suggest.hpp"
#include "config/text.hpp"
#include "config/usage_error.hpp"
#include "gpu/host/process_limits.hpp"
#include "gpu/inventory.hpp"
#include "gpu/row_layout.hpp"
#include "io/json/json_path.hpp"
#include "library/default_memory_limit.hpp"
#include "library/line_options.hpp"
#include "library/results.hpp"
#include "pipeline/counts/partitioning.hpp"
#include "report/formats/result_file.hpp"
#include "report/formats/text.hpp"
#include "report/lines/selector.hpp"

#include <algorithm>
#include <bit>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace gpuhist::library {

namespace {

using names = std::vector<std::string_view>;

std::string joined(const names& all, std::string_view between = ", ") {
  std::string text;
  for (const std::string_view name : all) text += (text.empty() ? "" : std::string(between)) + std::string(name);
  return text;
}

bool holds(const names& all, std::string_view name) { return std::ranges::find(all, name) != all.end(); }

void check_engine_has(const std::string& kernel, engine chosen) {
  const names on_host = gpu::host_kernel_names();
  const names on_devices = gpu::cuda_kernel_names();
  if (!holds(on_host, kernel) && !holds(on_devices, kernel)) {
    names known = on_host;
    known.insert(known.end(), on_devices.begin(), on_devices.end());
    unknown_name("kernel", kernel, known);
  }
  if (chosen == engine::cuda && !holds(on_devices, kernel)) {
    throw config::option_error("kernel",
                               kernel + " counts on the host; give --engine host, or " + joined(on_devices, " or "));
  }
  if (chosen != engine::cuda && !holds(on_host, kernel)) {
    throw config::option_error("kernel",
                               kernel + " counts on CUDA devices; give --engine cuda, or " + joined(on_host, " or "));
  }
}

}  // namespace

void unknown_name(std::string_view option, std::string_view name, const std::vector<std::string_view>& known) {
  throw config::option_error(option, config::no_such_name(name, known));
}

const io::format* resolve_input_format(const std::string& name) {
  if (name.empty() || name == "auto") return nullptr;
  if (const io::format* found = io::format_named(name)) return found;
  unknown_name("input-format", name, io::input_format_names());
}

std::shared_ptr<const io::zstd_dictionary> resolve_dictionary(const std::string& path) {
  if (path.empty()) return nullptr;
  constexpr std::string_view option = "zstd-dictionary";
  const std::string quoted = "'" + path + "' ";
  try {
    return io::load_zstd_dictionary(path);
  } catch (const std::invalid_argument& e) {
    throw config::option_error(option, quoted + e.what() + "; give a file that 'zstd --train' wrote");
  } catch (const std::system_error& e) {
    throw config::option_error(option, quoted + "cannot be read: " + e.code().message());
  }
}

std::string_view resolve_engine(engine chosen) {
  switch (chosen) {
    case engine::automatic:
      return "auto";
    case engine::host:
      return "host";
    case engine::cuda:
      return "cuda";
  }
  throw config::option_error("engine", "no value of the enumeration");
}

unsigned resolve_threads(unsigned given) {
  constexpr unsigned max_default = 64;
  return given > 0 ? given : std::min(gpu::host::available_cores(), max_default);
}

std::string resolve_kernel(const counting_options& options, const gpu::partition& counted) {
  const std::string& kernel = options.kernel;
  if (kernel.empty()) return {};
  check_engine_has(kernel, options.counting_engine);
  const bool on_devices = options.counting_engine == engine::cuda;
  const names able = on_devices ? gpu::cuda_kernel_names() : gpu::host_kernel_names_for(counted);
  if (holds(able, kernel)) return kernel;
  throw config::option_error("kernel", kernel + " cannot count the " + std::to_string(counted.classes) +
                                           " classes of this run; give " + joined(able, " or ") + ", or no --kernel");
}

std::vector<config::scheme> resolve_schemes(const counting_options& options) {
  try {
    return config::make_schemes(options.schemes, options.ignore_case);
  } catch (const config::usage_error& error) {
    throw config::option_error("buckets", error.what());
  }
}

std::optional<gpu::partition> resolve_pairs(const counting_options& options, std::span<const config::scheme> schemes) {
  if (!options.pairs) return std::nullopt;
  const gpu::partition needed = pipeline::pair_partition(schemes);
  if (needed.classes <= gpu::max_pair_classes) return needed;
  std::vector<std::string_view> scheme_names;
  for (const config::scheme& each : schemes) scheme_names.emplace_back(each.name);
  const bool is_one = scheme_names.size() == 1;
  throw config::option_error(
      "pairs",
      std::string(is_one ? "scheme " : "schemes ") + joined(scheme_names, " and ") +
          (is_one ? " divides" : " together divide") + " the byte values into " + std::to_string(needed.classes) +
          " classes; pairs are counted for at most " + std::to_string(gpu::max_pair_classes) + "; give --buckets" +
          (is_one ? " with fewer buckets, such as letters or classes" : " with fewer schemes or with fewer buckets"));
}

namespace {

void check_needs(const report::gates::formula& resolved, const std::string& text, const formula_context& known) {
  const config::reference* const compares = resolved.needs_baseline();
  const bool has_baseline =
      known.measuring.baseline != nullptr || (known.measuring.previous_windows && known.of_windows);
  if (compares != nullptr && !has_baseline) {
    const std::string_view cause =
        known.measuring.previous_windows
            ? ", and only windows are compared with previous windows; give --baseline RESULT.json"
            : "; give --baseline RESULT.json";
    throw config::usage_error(
        config::pointing_at(compares->typed + " compares with a baseline" + std::string(cause), text, compares->at));
  }
  const config::reference* const of_pairs = resolved.needs_pairs();
  if (of_pairs != nullptr && !known.has_pairs) {
    throw config::usage_error(
        config::pointing_at(of_pairs->typed + " is a measure of pairs; give --pairs", text, of_pairs->at));
  }
  const config::reference* const of_words = resolved.needs_words();
  if (of_words != nullptr && !known.has_words) {
    throw config::usage_error(
        config::pointing_at(of_words->typed + " are counted for the units of --each only", text, of_words->at));
  }
  const config::reference* const of_utf8 = resolved.needs_malformed();
  if (of_utf8 != nullptr && !known.has_malformed) {
    const std::string remedy = known.is_fed ? ", which is done for files only" : "; give --utf8";
    throw config::usage_error(
        config::pointing_at(of_utf8->typed + " needs the text to be validated" + remedy, text, of_utf8->at));
  }
}

// Throws config::usage_error.
void check_text(std::string_view function, const config::placed_text& operand) {
  report::texts::text_fact(function, operand);
}

// Of number(). Throws config::usage_error.
void check_selectors(const report::gates::line_names& names) {
  for (const report::gates::line_fact& each : names.used) {
    if (each.type == report::gates::line_fact::kind::number) report::lines::selector(each.of, std::nullopt);
  }
}

std::vector<std::string_view> possible_names(const formula_context& known) {
  std::vector<std::string_view> made = known.columns;
  if (known.has_words) made.emplace_back("words");
  made.emplace_back("malformed");
  return made;
}

template <class Formula>
Formula resolved(std::string_view option, const std::string& text, const formula_context& known,
                 config::expression (*parse)(std::string_view, std::span<const config::scheme>)) {
  try {
    Formula made(parse(text, known.schemes), known.schemes, possible_names(known), known.lines);
    check_needs(made, text, known);
    if (known.lines != nullptr) check_selectors(*known.lines);
    return made;
  } catch (const config::usage_error& error) {
    throw config::option_error(option, error.what());
  }
}

}  // namespace

report::gates::formula resolve_formula(std::string_view option, const std::string& text, const formula_context& known) {
  return resolved<report::gates::formula>(option, text, known, config::parse_formula);
}

report::gates::condition resolve_condition(std::string_view option, const std::string& text,
                                           const formula_context& known) {
  return resolved<report::gates::condition>(option, text, known, config::parse_expression);
}

namespace {

using report::measures::measure;
using report::measures::measuring;

constexpr std::string_view all = "all";

std::vector<std::string_view> known_names() {
  std::vector<std::string_view> known = {all};
  for (const measure& each : report::measures::all_measures()) known.push_back(each.name);
  return known;
}

void resolve_previous(const counting_options& options, measuring& into) {
  if (options.previous_windows == 0) return;
  constexpr std::string_view option = "baseline";
  config::check_range(option, options.previous_windows);
  if (options.baseline) {
    throw config::option_error(option, "is a result and previous windows; give one of the two");
  }
  if (!options.windows) throw config::option_error(option, "previous:N means windows and requires --window");
  into.previous_windows = options.previous_windows;
}

void resolve_baseline(const counting_options& options, measuring& into) {
  if (!options.baseline) return;
  constexpr std::string_view option = "baseline";
  const report::run_report& given = options.baseline->shared().content;
  if (!options.baseline->has_byte_counts()) {
    throw config::option_error(option, "has no counts of the 256 byte values");
  }
  if (given.verified.bytes() == 0) {
    throw config::option_error(option, "there are no bytes in it; give a result of some text");
  }
  into.baseline = std::make_shared<const report::measures::byte_counts>(report::measures::counts_of(given.verified));
}

void add_once(std::vector<const measure*>& to, const measure& next) {
  if (std::ranges::find(to, &next) == to.end()) to.push_back(&next);
}

/// 'all' includes the measures that compare with a baseline only if there is a baseline.
void add_named(std::string_view name, measuring& into) {
  if (name == all) {
    for (const measure& each : report::measures::all_measures()) {
      if (!each.compares || into.has_baseline()) add_once(into.asked, each);
    }
    return;
  }
  const measure* const found = report::measures::find_measure(name);
  constexpr std::string_view option = "measures";
  if (found == nullptr) unknown_name(option, name, known_names());
  if (found->compares && !into.has_baseline()) {
    throw config::option_error(option, std::string(name) + " compares with a baseline; give --baseline RESULT.json");
  }
  add_once(into.asked, *found);
}

}  // namespace

measuring resolve_measuring(const counting_options& options) {
  measuring made;
  resolve_previous(options, made);
  resolve_baseline(options, made);
  for (const std::string& each : options.measures) add_named(each, made);
  return made;
}

namespace {

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

bool divides_text(const counting_options& options) {
  return options.units && options.units->each != kind::input && options.units->each != kind::window;
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

namespace {

using report::gates::gate;

void add_gates(report::gates::watch_list& to, gate::kind kind, const std::vector<std::string>& conditions,
               std::string_view option, const formula_context& known) {
  for (const std::string& each : conditions) {
    to.gates.push_back({.effect = kind, .when = resolve_condition(option, each, known)});
  }
}

// The conditions whose first line with a match is shown.
void resolve_shown_lines(const counting_options& options, report::gates::watch_list& into) {
  if (!options.units || !options.units->show_text) return;
  for (gate& each : into.gates) {
    std::vector<std::size_t> named;
    for (const config::reference& used : each.when.typed().references) {
      if (used.as != config::reference::form::match) continue;
      named.push_back(
          static_cast<std::size_t>(std::ranges::find(into.matches, used.parts.front()) - into.matches.begin()));
    }
    if (named.empty()) continue;
    each.shown_line = into.shown_matches.size();
    into.shown_matches.push_back(std::move(named));
  }
}

void resolve_subjects(const counting_options& options, report::gates::watch_list& into) {
  into.totals = options.watch.totals;
  into.inputs = options.watch.inputs;
  into.windows = options.watch.windows;
  if (into.totals || into.inputs || options.windows) return;
  throw config::option_error("watch", "windows requires --window");
}

void check_facts(const counting_options& options, const report::gates::watch_list& list) {
  using fact = report::gates::line_fact::kind;
  if (options.watch.totals || options.watch.inputs || has_event_windows(options)) return;
  const auto is_of_values = [](const report::gates::line_fact& each) { return each.type != fact::match; };
  if (std::ranges::none_of(list.facts, is_of_values)) return;
  throw config::option_error("watch",
                             "numbers of values are known of the totals, of inputs and of windows of --event-time; "
                             "give --watch totals,inputs, or --event-time");
}

}  // namespace

report::gates::watch_list resolve_watch(const counting_options& options, const formula_context& known) {
  report::gates::watch_list resolved;
  report::gates::line_names names{.matches = {}, .has_numbers = false, .has_values = divides_text(options)};
  if (!options.fail_if.empty() || !options.alert_if.empty()) names.matches = names_of_matches(options);
  resolved.matches = names.matches;
  formula_context with_matches = known;
  with_matches.lines = &names;
  add_gates(resolved, gate::kind::fail, options.fail_if, "fail-if", with_matches);
  add_gates(resolved, gate::kind::alert, options.alert_if, "alert-if", with_matches);
  resolved.facts = std::move(names.used);
  check_facts(options, resolved);
  resolve_shown_lines(options, resolved);
  if (options.fail_fast && options.fail_if.empty()) {
    throw config::option_error("fail-fast", "requires --fail-if");
  }
  resolve_subjects(options, resolved);
  resolved.fail_fast = options.fail_fast;
  return resolved;
}

namespace {

pipeline::pane_unit pane_unit_of(const window_options& given) {
  switch (given.measured_in) {
    case window_options::measure::bytes:
      return pipeline::pane_unit::bytes;
    case window_options::measure::lines:
      return pipeline::pane_unit::lines;
    case window_options::measure::milliseconds:
      return pipeline::pane_unit::milliseconds;
  }
  throw config::option_error("window", "no value of the enumeration");
}

void check_step(std::uint64_t length, std::uint64_t step) {
  constexpr std::string_view option = "step";
  if (step > length) {
    throw config::option_error(option,
                               "is longer than the window, so that text between two windows would be in none; give at "
                               "most the length of the window");
  }
  const std::uint64_t panes = length / std::gcd(length, step);
  if (panes <= pipeline::max_panes) return;
  throw config::option_error(
      option, "a window would have " + std::to_string(panes) + " panes, more than " +
                  std::to_string(pipeline::max_panes) +
                  " (the length of a pane is the greatest common divisor of window and step); give a step "
                  "that divides the window, such as a tenth of it");
}

void check_time(const window_options& given, const pipeline::window_shape& shape) {
  constexpr std::uint64_t min_milliseconds = 10;
  if (shape.unit != pipeline::pane_unit::milliseconds || shape.pane >= min_milliseconds) return;
  throw config::option_error(
      given.step > 0 ? "step" : "window",
      "the shortest time is 10ms, also as the greatest common divisor of window and step; give longer times");
}

}  // namespace

std::optional<pipeline::window_shape> resolve_windows(const counting_options& options) {
  if (!config::writes_windows(options)) return std::nullopt;
  const window_options& given = *options.windows;
  if (given.length == 0) {
    throw config::option_error("window",
                               "has no length, which only windows of --event-time can do without; give a "
                               "length, such as 64MiB");
  }
  const std::uint64_t step = given.step > 0 ? given.step : given.length;
  check_step(given.length, step);
  const std::uint64_t pane = std::gcd(given.length, step);
  const pipeline::window_shape shape{.unit = pane_unit_of(given),
                                     .pane = pane,
                                     .window_panes = static_cast<std::uint32_t>(given.length / pane),
                                     .step_panes = static_cast<std::uint32_t>(step / pane),
                                     .per_input = given.per_input};
  check_time(given, shape);
  return shape;
}

namespace {

// "of an incomplete run ("complete":false): b.log: stopped at offset 4096"
std::string cause_of_incompleteness(const report::run_report& read) {
  std::string words = "of an incomplete run (\"complete\":false)";
  for (const pipeline::input_report& each : read.inputs) {
    if (!each.complete && !each.error.empty()) return words + ": " + report::printable(each.name + ": " + each.error);
  }
  return words;
}

}  // namespace

std::string load_baseline(counting_options& options) {
  constexpr std::string_view option = "baseline";
  if (options.baseline_file.empty()) return {};
  const std::string path = std::exchange(options.baseline_file, {});
  if (path == "-") throw config::option_error(option, "cannot be standard input; give the path of a file");
  const std::string name = config::quote(path) + " ";
  report::result_sum kept(report::letter_case::exact, {.path = options.temporary_folder});
  kept.add_file(path);
  if (!kept.errors().empty()) throw config::option_error(option, name + "is no baseline: " + kept.errors().front());
  report::run_report read = kept.take();
  if (read.verified.bytes() == 0) {
    throw config::option_error(option, name + "is no baseline: there are no bytes in it; give a result of some text");
  }
  std::string warning;
  if (!read.complete) {
    warning = "--baseline: " + name + "is " + cause_of_incompleteness(read) +
              "; the comparison uses only the bytes that it has";
  }
  options.baseline =
      results(std::make_shared<const results::state>(results::state{.content = std::move(read), .failed = {}}));
  return warning;
}

}  // namespace gpuhist::library
