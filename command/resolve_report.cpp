#include "command/resolve_report.hpp"

#include "config/usage_error.hpp"
#include "library/resolve.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::pipeline {
namespace {

bool selects_units(const config::options& typed) { return typed.condition_of_units || !typed.presets.empty(); }

// A run writes the line of an input when the input is finished; other commands write all lines at the end.
bool is_live(const config::options& typed, const report_format& format) {
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
std::string format_option(const config::options& typed) {
  return typed.where(suffix_of_output(typed) != nullptr ? "--output" : "--format");
}

}  // namespace

std::string format_name_of(const config::options& typed) {
  const suffix_row* const promised = suffix_of_output(typed);
  if (promised == nullptr) return typed.format.value_or(typed.window ? "jsonl" : "table");
  if (!promised->format.empty()) return std::string(promised->format);
  throw config::usage_error(typed.where("--output") + ": there is no format " +
                            std::string(promised->suffix.substr(1)) + " for " + printable(*typed.output) +
                            "; end the name in .json, .jsonl, .csv, .prom or .txt, or give --format, which has "
                            "precedence");
}

const report_format* resolve_report_format(const config::options& typed) {
  const std::string typed_name = format_name_of(typed);
  const bool has_lines = typed.window || selects_units(typed);  // besides the result
  const std::string name = has_lines && typed_name == "json" ? "jsonl" : typed_name;
  if (const report_format* found = find_report_format(name)) return found;
  std::vector<std::string_view> known;
  for (const report_format& each : report_formats()) known.push_back(each.name);
  unknown_name(typed.where("--format"), name, known);
}

void check_format_of_windows(const config::options& typed, const report_format& format) {
  if (!typed.window || format.name == "jsonl") return;
  throw config::usage_error(format_option(typed) + ": " + std::string(format.name) +
                            " cannot hold the windows of --window, which are lines of JSON; give --format jsonl");
}

void check_format_of_units(const config::options& typed, const report_format& format) {
  if (!selects_units(typed) || format.unit_lines != nullptr) return;
  throw config::usage_error(format_option(typed) + ": " + std::string(format.name) +
                            " cannot hold the units that --where selects; give --format table or jsonl");
}

bool writes_snapshots(const config::options& typed, const report_format& format) {
  const bool is_filter = typed.pass_through != config::pass_through_mode::nothing;
  return typed.snapshot_every || typed.window || selects_units(typed) ||
         (is_filter && format.carries_alerts);  // SIGUSR1 asks for snapshots
}

writing resolve_writing(const config::options& typed, const report_format& format) {
  if (typed.append) {
    const std::string option = typed.where("--append");
    if (!typed.output) throw config::usage_error(option + ": there is no file to append to; give --output FILE");
    if (format.whole) {
      throw config::usage_error(option + ": a report of format " + std::string(format.name) +
                                " must be alone in its file; leave --append out, or give --format jsonl or csv");
    }
    return writing::append;
  }
  if (!is_live(typed, format)) return writing::whole;
  if (!format.whole) return writing::live;
  if (!typed.output) {
    throw config::usage_error(typed.where("--snapshot-every") + ": every snapshot of format " +
                              std::string(format.name) +
                              " replaces the previous one, which is impossible in a stream; give --output FILE, or "
                              "--format jsonl");
  }
  return writing::replacing;
}

}  // namespace gpuhist::pipeline
