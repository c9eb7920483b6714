#include "command/typed_options.hpp"

#include "command/plan.hpp"
#include "config/presets.hpp"
#include "config/text.hpp"
#include "gpu/engines.hpp"
#include "library/default_memory_limit.hpp"
#include "library/resolve.hpp"
#include "library/results.hpp"
#include "report/formats/result_file.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuhist::pipeline {

namespace {

// "of an incomplete run ("complete":false): b.log: stopped at offset 4096"
std::string cause_of_incompleteness(const report& read) {
  std::string words = "of an incomplete run (\"complete\":false)";
  for (const input_report& each : read.inputs) {
    if (!each.complete && !each.error.empty()) return words + ": " + printable(each.name + ": " + each.error);
  }
  return words;
}

}  // namespace

typed_baseline read_baseline(const std::string& option, const std::string& path) {
  const std::string prefix = option + ": " + config::quote(path) + " ";
  if (path == "-") throw config::usage_error(option + ": cannot be standard input; give the path of a file");
  result_sum kept(letter_case::exact, folder_for_spills());
  kept.add_file(path);
  if (!kept.errors().empty()) throw config::usage_error(prefix + "is no baseline: " + kept.errors().front());
  report read = kept.take();
  if (read.verified.bytes() == 0) {
    throw config::usage_error(prefix + "is no baseline: there are no bytes in it; give a result of some text");
  }
  typed_baseline made;
  if (!read.complete) {
    made.warning = prefix + "is " + cause_of_incompleteness(read) + "; the comparison uses only the bytes that it has";
  }
  made.content =
      results(std::make_shared<const results::state>(results::state{.content = std::move(read), .failed = {}}));
  return made;
}

namespace {

void refuse_without(bool is_given, const config::options& typed, std::string_view option, std::string_view needs) {
  if (is_given) throw config::usage_error(typed.where(option) + ": requires " + std::string(needs));
}

engine engine_of(const config::options& typed) {
  try {
    const std::string_view name = gpu::canonical_engine(typed.engine);
    return name == "auto" ? engine::automatic : name == "cuda" ? engine::cuda : engine::host;
  } catch (const std::invalid_argument&) {
    unknown_name("engine", typed.engine, gpu::engine_names());
  }
}

std::optional<window_options> windows_of(const config::options& typed) {
  if (!typed.window) {
    refuse_without(typed.step.has_value(), typed, "--step", "--window");
    refuse_without(typed.per_input, typed, "--per-input", "--window");
    return std::nullopt;
  }
  if (typed.step && typed.step->unit != typed.window->unit) {
    throw config::usage_error(typed.where("--step") +
                              ": has another unit than --window; give both in bytes, lines or time");
  }
  return window_options{.measured_in = typed.window->unit,
                        .length = typed.window->amount,
                        .step = typed.step ? typed.step->amount : 0,
                        .per_input = typed.per_input};
}

watch_options watch_of(const config::options& typed) {
  constexpr std::string_view totals = "totals";
  constexpr std::string_view inputs = "inputs";
  constexpr std::string_view windows = "windows";
  if (typed.watch.empty()) return {};
  refuse_without(typed.run.counting.fail_if.empty() && typed.run.counting.alert_if.empty(), typed, "--watch",
                 "--fail-if or --alert-if");
  const auto is_named = [&](std::string_view name) {
    return std::ranges::find(typed.watch, name) != typed.watch.end();
  };
  for (const std::string& each : typed.watch) {
    if (each != totals && each != inputs && each != windows) {
      unknown_name("watch", each, {totals, inputs, windows});
    }
  }
  return {.totals = is_named(totals), .inputs = is_named(inputs), .windows = is_named(windows)};
}

const config::preset& preset_named(const std::string& name) {
  if (const config::preset* const found = config::find_preset(name)) return *found;
  std::vector<std::string_view> known;
  for (const config::preset& each : config::preset_table()) known.push_back(each.name);
  unknown_name("preset", name, known);
}

// One of the conditions holds: those of the presets, and one that was typed.
std::string any_of(const config::options& typed, const std::optional<std::string>& condition) {
  std::string made;
  const auto add = [&](std::string_view next) {
    made += made.empty() ? "" : " || ";
    made += typed.presets.empty() ? std::string(next) : "(" + std::string(next) + ")";
  };
  for (const std::string& each : typed.presets) add(preset_named(each).drop_if);
  if (condition) add(*condition);
  return made;
}

// Definitions, which the conditions of the presets name.
void add_schemes_of_presets(const config::options& typed, counting_options& to) {
  for (const std::string& each : typed.presets) {
    for (const std::string_view scheme : preset_named(each).schemes) to.schemes.emplace_back(scheme);
  }
}

// The option that the condition of units is from.
std::string_view option_of_condition(const config::options& typed) {
  if (typed.keep_if) return "--keep-if";
  if (typed.drop_if) return "--drop-if";
  return typed.presets.empty() || typed.condition_of_units ? "--where" : "--preset";
}

void check_output_folder(const config::options& typed) {
  constexpr std::string_view needed = "--output-dir";
  if (typed.output_dir) {
    if (!typed.output) return;
    throw config::usage_error(typed.where("--output") + ": cannot be combined with --output-dir; give one of them");
  }
  refuse_without(typed.compress.has_value(), typed, "--compress", needed);
  refuse_without(typed.resume, typed, "--resume", needed);
  refuse_without(typed.force, typed, "--force", needed);
}

unit_options filter_of(const config::options& typed) {
  check_output_folder(typed);
  if (typed.keep_if.has_value() == (typed.drop_if || !typed.presets.empty())) {
    throw config::usage_error(typed.keep_if
                                  ? typed.where("--keep-if") + ": cannot be combined with --drop-if or --preset"
                                  : "give --keep-if, --drop-if or --preset");
  }
  if (typed.keep_if) return {.where = *typed.keep_if, .filter = unit_filter::keep};
  return {.where = any_of(typed, typed.drop_if), .filter = unit_filter::drop};
}

std::optional<unit_options> units_of(const config::options& typed) {
  const bool has_records = typed.each && typed.each->type == config::unit_extent::kind::record;
  refuse_without(typed.delimiter && !has_records, typed, "--delimiter", "--each record");
  const bool has_lines =
      typed.each ? typed.each->type == config::unit_extent::kind::line : typed.what == config::command::filter;
  refuse_without(typed.jsonl_field && !has_lines, typed, "--jsonl-field", "--each line");
  if (typed.what == config::command::filter) {
    unit_options made = filter_of(typed);
    const config::unit_extent each = typed.each.value_or(config::unit_extent{});
    made.each = each.type;
    made.part_bytes = each.bytes;
    made.delimiter = typed.delimiter.value_or('\0');
    made.distribution_of = typed.distribution_of.value_or("");
    made.jsonl_field = typed.jsonl_field.value_or("");
    return made;
  }
  refuse_without(!typed.presets.empty() && !typed.each, typed, "--preset", "--each");
  if (!typed.each) {
    refuse_without(typed.condition_of_units.has_value(), typed, "--where", "--each");
    refuse_without(typed.top_units.has_value(), typed, "--top", "--each, for N:FORMULA");
    refuse_without(typed.distribution_of.has_value(), typed, "--distribution-of", "--each");
  }
  if (!typed.each) return std::nullopt;
  unit_options made{.each = typed.each->type,
                    .delimiter = typed.delimiter.value_or('\0'),
                    .part_bytes = typed.each->bytes,
                    .where = any_of(typed, typed.condition_of_units),
                    .distribution_of = typed.distribution_of.value_or(""),
                    .jsonl_field = typed.jsonl_field.value_or("")};
  if (typed.top_units) {
    made.top = typed.top_units->number;
    made.top_by = typed.top_units->by;
  }
  return made;
}

void take_baseline(const config::options& typed, counting_request& into) {
  if (!typed.baseline) return;
  const bool compares = !typed.run.counting.measures.empty() || !typed.run.counting.fail_if.empty() ||
                        !typed.run.counting.alert_if.empty() || !typed.columns.empty() || typed.sort || typed.each ||
                        typed.what == config::command::filter;
  refuse_without(!compares, typed, "--baseline", "--measures, --fail-if, --alert-if, --columns, --sort or --each");
  const std::string option = typed.where("--baseline");
  if (const auto* previous = std::get_if<config::previous_windows>(&*typed.baseline)) {
    if (!typed.window) throw config::usage_error(option + ": previous:N means windows and requires --window");
    into.counting.previous_windows = previous->number;
    return;
  }
  typed_baseline read = read_baseline(option, std::get<std::string>(*typed.baseline));
  into.counting.baseline = std::move(read.content);
  into.warning = std::move(read.warning);
}

void take_inputs(const config::options& typed, file_options& into) {
  refuse_without(typed.null && !typed.files_from, typed, "--null", "--files-from");
  into.standard_input = true;
  into.inputs = typed.inputs;
  if (typed.files_from) into.list = {.path = *typed.files_from, .terminator = typed.null ? '\0' : '\n'};
  if (into.inputs.empty() && !into.list) into.inputs.emplace_back("-");
  if (typed.recursive) {
    into.trees = {.include = typed.include, .exclude = typed.exclude, .follow_symlinks = typed.follow_symlinks};
    return;
  }
  refuse_without(!typed.include.empty(), typed, "--include", "--recursive");
  refuse_without(!typed.exclude.empty(), typed, "--exclude", "--recursive");
  refuse_without(typed.follow_symlinks, typed, "--follow-symlinks", "--recursive");
}

std::optional<pass_through_options> pass_through_of(const config::options& typed) {
  constexpr int standard_output = 1;
  using enum pass_through_options::content;
  const bool is_filter = typed.what == config::command::filter;
  if (!typed.pass_through && !is_filter) return std::nullopt;
  return pass_through_options{.forwarded = is_filter ? text : *typed.pass_through, .descriptor = standard_output};
}

}  // namespace

config::usage_error with_place(const config::option_error& error, const config::options& typed) {
  const std::string option = "--" + error.option();
  const std::string place = typed.where(option == "--where" ? option_of_condition(typed) : option);
  return config::usage_error(place + ": " + error.error());
}

counting_request counting_request_of(const config::options& typed) {
  counting_request made{.counting = typed.run.counting};
  counting_options& counting = made.counting;
  add_schemes_of_presets(typed, counting);
  take_baseline(typed, made);
  counting.windows = windows_of(typed);
  counting.watch = watch_of(typed);
  counting.counting_engine = engine_of(typed);
  if (counting.memory_limit == 0) counting.memory_limit = default_memory_limit();
  return made;
}

run_request request_of(const config::options& typed) {
  run_request made{.run = typed.run};
  file_options& run = made.run;
  take_inputs(typed, run);
  counting_request counts = counting_request_of(typed);
  run.counting = std::move(counts.counting);
  made.warning = std::move(counts.warning);
  run.pass_through = pass_through_of(typed);
  run.counting.units = units_of(typed);
  return made;
}

}  // namespace gpuhist::pipeline
