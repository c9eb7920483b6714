#include "command/plan.hpp"

#include "command/typed_options.hpp"
#include "config/option_values.hpp"
#include "config/text.hpp"
#include "config/usage_error.hpp"
#include "library/line_options.hpp"
#include "library/resolve.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace gpuhist::command {

namespace {

std::string path_of_folder() {
  std::error_code missing;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(missing);
  if (!missing) return folder.string();
  const char* const named = std::getenv("TMPDIR");  // NOLINT(concurrency-mt-unsafe): nothing here sets it
  return named != nullptr ? named : "/tmp";
}

}  // namespace

pipeline::spill_folder folder_for_spills(const config::options& typed) {
  const std::string& given = typed.run.counting.temporary_folder;
  return {.path = given.empty() ? path_of_folder() : given};
}

namespace {

using kind = report::input_column::kind;

constexpr std::array columns_with_names = {kind::bytes, kind::lines, kind::share, kind::mostly};

report::input_column resolve_column(const std::string& typed, const library::formula_context& known) {
  for (const kind each : columns_with_names) {
    if (const report::input_column named{.type = each}; named.heading() == typed) return named;
  }
  return {.type = kind::formula, .formula = library::resolve_formula("columns", typed, known)};
}

// The share of all bytes gives the same order as the bytes.
report::gates::formula resolve_order(const std::string& typed, const library::formula_context& known) {
  if (typed == "mostly") {
    throw config::option_error("sort", "mostly is not a number; give a bucket, a measure or a formula");
  }
  return library::resolve_formula("sort", typed == "share" ? "bytes" : typed == "-share" ? "-bytes" : typed, known);
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
bool shows_inputs(const config::options& typed, const report::report_format& format) {
  const std::string option(first_option(typed));
  if (format.name != "table") {
    if (option.empty()) return false;
    throw config::usage_error(option + ": is only for --format table; format " + std::string(format.name) +
                              " contains all inputs in their order: leave the option out, or give --format table");
  }
  const std::optional<unit_options>& units = typed.run.counting.units;
  const bool has_groups = units && !units->group_by.empty();
  const bool shows_groups = has_groups || (option != "--top" && library::has_event_windows(typed.run.counting));
  if (typed.totals_only && !option.empty() && !shows_groups) {
    throw config::usage_error(option + ": " + typed.where("--totals-only") +
                              " leaves out all inputs; give one of the two");
  }
  return !typed.totals_only || shows_groups;
}

}  // namespace

report::input_listing resolve_listing(const config::options& typed, const counting_options& counting,
                                      const listed_facts& rows, const report::report_format& format) {
  report::input_listing made{.top = typed.top};
  if (!shows_inputs(typed, format)) return made;
  if (typed.columns.empty() && !typed.sort) return made;
  const std::vector<config::scheme> schemes = library::resolve_schemes(counting);
  const report::measures::measuring measuring = library::resolve_measuring(counting);
  library::formula_context known{.schemes = schemes,
                                 .measuring = measuring,
                                 .has_pairs = counting.pairs,
                                 .has_malformed = rows.has_malformed,
                                 .columns = {"share", "mostly"}};
  report::gates::line_names names{.matches = rows.matches, .has_numbers = false, .has_values = rows.has_values};
  if (!rows.matches.empty() || rows.has_values) known.lines = &names;
  for (const std::string& each : typed.columns) {
    made.columns.push_back(resolve_column(std::string(config::trimmed(each)), known));
  }
  made.facts_of_columns = names.used.size();
  known.columns = {"share"};
  if (typed.sort) made.order = resolve_order(std::string(config::trimmed(*typed.sort)), known);
  made.facts = std::move(names.used);
  return made;
}

namespace {

bool selects_units(const config::options& typed) {
  const std::optional<unit_options>& units = typed.run.counting.units;
  const bool lists = units && units->selects() && units->group_by.empty() && units->event_time.empty();
  return lists && typed.what != config::command::filter;
}

// A run writes the line of an input when the input is finished; other commands write all lines at the end.
bool is_live(const config::options& typed, const report::report_format& format) {
  const bool has_lines = typed.what == config::command::count && format.input_line != nullptr;
  return has_lines || writes_snapshots(typed, format);
}

// What the suffix of a file name promises. Other suffixes promise nothing.
struct suffix_row {
  std::string_view suffix;
  std::string_view format;  // empty: none of the formats
};

constexpr std::array suffix_table = {
    suffix_row{".json", "json"},
    suffix_row{".jsonl", "jsonl"},
    suffix_row{".ndjson", "jsonl"},
    suffix_row{".csv", "csv"},
    suffix_row{".prom", "prometheus"},
    suffix_row{".html", ""},
    suffix_row{".htm", ""},
    suffix_row{".tsv", ""},
    suffix_row{".xml", ""},
    suffix_row{".yaml", ""},
    suffix_row{".yml", ""},
    suffix_row{".toml", ""},
    suffix_row{".parquet", ""},
    suffix_row{".xlsx", ""},
    suffix_row{".pdf", ""},
    suffix_row{".svg", ""},
    suffix_row{".png", ""},
    suffix_row{".gz", ""},
    suffix_row{".zst", ""},
    suffix_row{".xz", ""},
    suffix_row{".bz2", ""},
    suffix_row{".zip", ""},
};

const suffix_row* suffix_of_output(const config::options& typed) {
  // a filter writes the kept text to --output, whatever its name
  if (typed.format || !typed.output || typed.what == config::command::filter) return nullptr;
  std::string suffix = std::filesystem::path(*typed.output).extension().string();
  std::ranges::transform(suffix, suffix.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  const auto* const found = std::ranges::find(suffix_table, suffix, &suffix_row::suffix);
  return found == suffix_table.end() ? nullptr : found;
}

// The option that chose the format.
std::string_view format_option(const config::options& typed) {
  return suffix_of_output(typed) != nullptr ? "output" : "format";
}

}  // namespace

std::string format_name_of(const config::options& typed) {
  const suffix_row* const promised = suffix_of_output(typed);
  if (promised == nullptr) return typed.format.value_or(config::writes_windows(typed.run.counting) ? "jsonl" : "table");
  if (!promised->format.empty()) return std::string(promised->format);
  throw config::option_error("output",
                             "there is no format " + std::string(promised->suffix.substr(1)) + " for " +
                                 report::printable(*typed.output) +
                                 "; end the name in .json, .jsonl, .csv, .prom or .txt, or give --format, which has "
                                 "precedence");
}

const report::report_format* resolve_report_format(const config::options& typed) {
  const std::string typed_name = format_name_of(typed);
  const bool has_lines = config::writes_windows(typed.run.counting) || selects_units(typed);  // besides the result
  const std::string name = has_lines && typed_name == "json" ? "jsonl" : typed_name;
  if (const report::report_format* found = report::find_report_format(name)) return found;
  std::vector<std::string_view> known;
  for (const report::report_format& each : report::report_formats()) known.push_back(each.name);
  library::unknown_name("format", name, known);
}

void check_format_of_windows(const config::options& typed, const report::report_format& format) {
  if (!config::writes_windows(typed.run.counting) || format.name == "jsonl") return;
  throw config::option_error(
      format_option(typed),
      std::string(format.name) + " cannot hold the windows of --window, which are lines of JSON; give --format jsonl");
}

void check_format_of_units(const config::options& typed, const report::report_format& format) {
  if (!selects_units(typed) || format.unit_lines != nullptr) return;
  throw config::option_error(
      format_option(typed),
      std::string(format.name) + " cannot hold the units that --where selects; give --format table or jsonl");
}

void check_format_of_changes(const config::options& typed, const report::report_format& format) {
  if (!config::compares_logs(typed.what) || format.name != "prometheus") return;
  throw config::option_error(format_option(typed), "prometheus cannot hold changes; give json, jsonl, csv or table");
}

bool writes_snapshots(const config::options& typed, const report::report_format& format) {
  const bool is_filter = typed.run.pass_through.has_value();
  return typed.run.snapshot_every || config::writes_windows(typed.run.counting) || selects_units(typed) ||
         (is_filter && format.carries_alerts);  // SIGUSR1 asks for snapshots
}

report::writing resolve_writing(const config::options& typed, const report::report_format& format) {
  if (typed.append) {
    if (format.whole) {
      throw config::option_error("append",
                                 "a report of format " + std::string(format.name) +
                                     " must be alone in its file; leave --append out, or give --format jsonl or csv");
    }
    return report::writing::append;
  }
  if (!is_live(typed, format)) return report::writing::whole;
  if (!format.whole) return report::writing::live;
  if (!typed.output) {
    throw config::option_error(
        "snapshot-every", "every snapshot of format " + std::string(format.name) +
                              " replaces the previous one, which is impossible in a stream; give --output FILE, or "
                              "--format jsonl");
  }
  return report::writing::replacing;
}

namespace {

namespace fs = std::filesystem;

// With --pass-through, standard output carries the data, and the report goes elsewhere: by default to standard error.
std::string resolve_report_of_filter(const config::options& typed) {
  if (!typed.output) return "/dev/stderr";
  if (names_standard_output(*typed.output)) {
    throw config::option_error(
        "output", *typed.output + " is the output of --pass-through; give a file, fd:2 or another descriptor");
  }
  return *typed.output;
}

}  // namespace

bool names_standard_output(std::string_view name) {
  constexpr std::array names = {"fd:1", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"};
  return std::ranges::find(names, name) != names.end();
}

namespace {

// Of the groups and windows that a table has.
listed_facts facts_of_rows(const file_options& run) {
  const counting_options& counting = run.counting;
  const bool has_groups = counting.units && (!counting.units->group_by.empty() || library::has_event_windows(counting));
  return {.has_malformed = run.utf8,
          .matches = has_groups ? library::names_of_matches(counting) : std::vector<std::string>(),
          .has_values = has_groups};
}

std::vector<library::asked_value> asked_values(const report::input_listing& listing) {
  std::vector<library::asked_value> made;
  for (std::size_t i = 0; i < listing.facts.size(); ++i) {
    if (!listing.facts[i].is_of_values()) continue;
    made.push_back({.option = i < listing.facts_of_columns ? "columns" : "sort", .of = listing.facts[i]});
  }
  return made;
}

// The groups themselves are the result. Both sides together need the memory of one run.
std::shared_ptr<const report::units::unit_plan> compared(const report::units::unit_plan& of) {
  auto made = std::make_shared<report::units::unit_plan>(of);
  made->lines->is_compared = true;
  made->lines->groups_in_memory /= 2;
  return made;
}

}  // namespace

plan make_plan(const config::options& typed) {
  run_request requested = request_of(typed);
  const report::report_format* const format = resolve_report_format(typed);
  report::input_listing listing = resolve_listing(typed, requested.run.counting, facts_of_rows(requested.run), *format);
  if (listing.needs_byte_counts()) requested.run.counting.byte_counts = true;
  plan planned;
  static_cast<library::counting_plan&>(planned) = library::make_plan(requested.run, asked_values(listing));
  if (typed.what == config::command::diff) planned.units = compared(*planned.units);
  planned.listing = std::move(listing);
  planned.measuring.warning = requested.warning;
  planned.format = format;
  check_format_of_windows(typed, *planned.format);
  check_format_of_units(typed, *planned.format);
  check_format_of_changes(typed, *planned.format);
  planned.output = typed.output;
  if (typed.run.pass_through) planned.output = resolve_report_of_filter(typed);
  planned.output_name = planned.output ? "the output " + report::printable(*planned.output) : "standard output";
  planned.manner = resolve_writing(typed, *planned.format);
  planned.snapshot_on_request = writes_snapshots(typed, *planned.format);
  planned.stats = typed.stats;
  planned.totals_only = typed.totals_only;
  planned.progress = typed.progress;
  planned.quiet = typed.quiet;
  return planned;
}

void refuse_new_output_as_input(const plan& planned) {
  if (!planned.output || (planned.manner != report::writing::live && planned.manner != report::writing::append)) return;
  std::error_code ignored;
  if (fs::exists(*planned.output, ignored) || report::names_descriptor(*planned.output)) return;
  const fs::path output = fs::absolute(*planned.output, ignored).lexically_normal();
  const auto is_output = [&](const std::string& input) {
    return input != "-" && fs::absolute(input, ignored).lexically_normal() == output;
  };
  if (std::ranges::none_of(planned.inputs, is_output) && !(planned.list && is_output(*planned.list))) return;
  throw config::usage_error(report::printable(*planned.output) +
                            ": is an input and the output, and there is no such file; give " +
                            "another --output, or leave it out of the inputs");
}

}  // namespace gpuhist::command
