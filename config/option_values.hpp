// Parsers for the values of options. Each function throws usage_error with the error and the remedy; the caller adds
// the name of the option, or the place in a file.
#pragma once

#include "config/options.hpp"
#include "config/size.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::config {

/// --window, --step: an amount of text, or a time.
struct window_extent {
  window_options::measure unit = window_options::measure::bytes;
  std::uint64_t amount = 0;
};

/// A whole number in the range.
std::uint64_t parse_number(const std::string& typed, number_range allowed);

/// The text itself. Empty text is an error; `right` is the remedy in its message.
std::string parse_text(const std::string& typed, std::string_view right);

/// The place of the name among those that are known.
std::size_t parse_choice(const std::string& typed, std::span<const std::string_view> known);

/// At least one byte; no_memory_limit for "none".
std::uint64_t parse_memory_limit(const std::string& typed);

/// Names separated by commas.
std::vector<std::string> parse_names(std::span<const std::string> typed);

/// Whether it is above 0 and at most 100.
constexpr bool is_percent(double value) { return value > 0 && value <= 100; }

/// Regular expressions with names, "NAME=REGEX".
std::vector<std::string> parse_matches(std::span<const std::string> typed);

/// Whether a line is written for each window: windows of bytes, lines or arrival, not of times in the text.
bool writes_windows(const counting_options& of);

/// Percents separated by commas: "50,99.9", or "p50,p99.9".
std::vector<double> parse_percents(std::span<const std::string> typed);

/// Names separated by commas. Text with '=' defines one custom scheme and is added as a whole, with its commas.
std::vector<std::string> parse_buckets(std::span<const std::string> typed);

/// Texts that are not empty: patterns of names.
std::vector<std::string> parse_patterns(std::span<const std::string> typed);

/// Texts that are not empty.
std::vector<std::string> parse_conditions(std::span<const std::string> typed);

/// --watch: totals, inputs and windows.
watch_options parse_watch(std::span<const std::string> typed);

/// --top: a number of rows, at least 1; "all": the highest number.
unsigned parse_rows(const std::string& typed);

/// --top N:FORMULA. `allowed`: N.
void set_top_units(unit_options& to, const std::string& typed, number_range allowed);

/// --each: "line", "record", "input", "window", or a size.
void set_unit(unit_options& to, const std::string& typed, number_range allowed);

/// One character, or one escape of custom schemes: "\\0", "\\n", "\\x1e".
char parse_delimiter(const std::string& typed);

/// Conditions in addition to others: one of them holds.
void add_rules(unit_options& to, std::span<const std::string> typed);

/// A condition and its name.
struct named_condition {
  std::string name;  ///< its text, if it was given without a name
  std::string condition;

  bool operator==(const named_condition&) const = default;
};

/// "short=words < 50", or a condition without a name: "words == 50".
named_condition parse_rule(std::string_view typed);

/// The rules and the schemes of presets, by name. A filter drops the lines without the field that is measured, unless
/// something else was given.
void add_presets(counting_options& to, const std::vector<std::string>& names);

/// --baseline: a path, or "previous:N" for N windows.
void set_baseline(counting_options& to, const std::string& typed, number_range allowed);

/// --devices: "all", or distinct numbers separated by commas.
void set_devices(counting_options& to, const std::string& typed);

/// A path, or "fd:N"; nothing for "-", standard output.
std::optional<std::string> parse_destination(const std::string& typed);

/// A time if the unit is ms, s, m or h in lower case (5m is five minutes, 5M is 5 MiB), else a size.
snapshot_interval parse_interval(const std::string& typed);

/// A number of lines ("1000lines"), or as parse_interval.
window_extent parse_window(const std::string& typed);

/// Those that exist, or new ones without a length.
window_options& windows_in(counting_options& of);

/// --window and --step, in one unit.
void set_window(counting_options& to, window_extent length);
void set_step(counting_options& to, window_extent step);

/// "none", "same", "gzip", "zstd" or "zstd:LEVEL".
output_compression parse_compression(const std::string& typed);

/// A percentage above 0 and below 100, such as "0.5%".
double parse_share(const std::string& typed);

/// A number, or a percentage such as "0.1%".
error_limit parse_error_limit(const std::string& typed);

/// --min-age: a time.
std::chrono::milliseconds parse_age(const std::string& typed);

/// "3/8", or "auto".
shard_choice parse_shard(const std::string& typed);

/// "true" for 1, true, yes, on, and "false" for 0, false, no, off, in any case.
std::string parse_switch(const std::string& typed);

}  // namespace gpuhist::config
