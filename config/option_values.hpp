// Parsers for the values of options. Each function throws usage_error with the error and the remedy; the caller adds
// the name of the option, or the place in a file.
#pragma once

#include "config/options.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::config {

struct number_range {
  unsigned min;
  unsigned max;
};

/// A whole number in the range, both ends included.
unsigned parse_number(const std::string& typed, number_range allowed);

/// The text itself. Empty text is an error; `right` is the remedy in its message.
std::string parse_text(const std::string& typed, std::string_view right);

/// 1 byte to 1 GiB.
std::uint64_t parse_chunk_size(const std::string& typed);

/// At least one byte; no_memory_limit for "none".
std::uint64_t parse_memory_limit(const std::string& typed);

/// A size of at least one byte.
std::uint64_t parse_amount(const std::string& typed);

/// Adds names separated by commas. Text with '=' defines one custom scheme and is added as a whole, with its commas.
void add_buckets(options& into, const std::string& typed);

/// Adds names separated by commas.
void add_names(std::vector<std::string>& to, const std::string& typed);

/// --top: a number of rows, at least 1; "all": the highest number; or "N:FORMULA" for units.
void set_top(options& into, const std::string& typed);

/// --each: "line", "record", "input", "window", or a size of 1 byte to 1 GiB.
unit_extent parse_unit(const std::string& typed);

/// One character, or one escape of custom schemes: "\\0", "\\n", "\\x1e".
char parse_delimiter(const std::string& typed);

/// "previous:N" for N windows, 1 to 4096, or a path.
baseline_source parse_baseline(const std::string& typed);

/// "all", or distinct numbers separated by commas. Replaces earlier values.
void set_devices(options& into, const std::string& typed);

/// A path, or "fd:N"; nothing for "-", standard output.
std::optional<std::string> parse_destination(const std::string& typed);

/// A time if the unit is ms, s, m or h in lower case (5m is five minutes, 5M is 5 MiB), else a size.
snapshot_interval parse_interval(const std::string& typed);

/// A number of lines ("1000lines"), or as parse_interval.
window_extent parse_window(const std::string& typed);

/// "none", "same", "gzip", "zstd" or "zstd:LEVEL".
output_compression parse_compression(const std::string& typed);

/// "raw" or "text"; "true" (the option without a value) is raw.
pass_through_options::content parse_pass_through(const std::string& typed);

/// "auto", "on" or "off".
device_decoding parse_device_decoding(const std::string& typed);

/// At least 64 MiB.
std::uint64_t parse_device_memory(const std::string& typed);

/// --on-error: "continue" or "stop".
void set_on_error(options& into, const std::string& typed);

/// A number, or a percentage such as "0.1%".
error_limit parse_error_limit(const std::string& typed);

/// --min-age: a time.
std::chrono::milliseconds parse_age(const std::string& typed);

/// --fingerprint: "ends" or "full".
fingerprint_kind parse_fingerprint(const std::string& typed);

/// "3/8", or "auto".
shard_choice parse_shard(const std::string& typed);

/// "true" for 1, true, yes, on, and "false" for 0, false, no, off, in any case.
std::string parse_switch(const std::string& typed);

}  // namespace gpuhist::config
