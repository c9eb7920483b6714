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

std::vector<std::string_view> possible_names(const formula_context& known) {
  std::vector<std::string_view> made = known.columns;
  if (known.has_words) made.emplace_back("words");
  made.emplace_back("malformed");
  return made;
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

// Of number(). Throws config::usage_error.
void check_selectors(const report::gates::line_names& names) {
  for (const report::gates::line_fact& each : names.used) {
    if (each.type == report::gates::line_fact::kind::number) report::lines::selector(each.of, std::nullopt);
  }
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

using report::gates::gate;

bool divides_text(const counting_options& options) {
  using kind = unit_options::kind;
  return options.units && options.units->each != kind::input && options.units->each != kind::window;
}

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
