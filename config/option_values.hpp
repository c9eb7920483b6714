// The values of options as people type them. Each function throws usage_error that says what is wrong with the value
// and what would be right; the name of the option is put before it by whoever knows where the value came from.
#pragma once

#include "config/options.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::config {

struct number_range {
  unsigned least;
  unsigned most;
};

/// A whole number in the range, both ends included.
unsigned parse_number(const std::string& typed, number_range allowed);

/// The text itself. `right` is what the message of an empty one recommends.
std::string parse_text(const std::string& typed, std::string_view right);

/// 1 byte to 1 GiB.
std::uint64_t parse_chunk_size(const std::string& typed);

/// More than nothing.
std::uint64_t parse_memory_limit(const std::string& typed);

/// A size of at least one byte.
std::uint64_t parse_amount(const std::string& typed);

/// Adds names separated by commas. What contains '=' defines one custom scheme and is added whole, commas included.
void add_buckets(options& into, const std::string& typed);

/// Names separated by commas, added to what is there.
void add_names(std::vector<std::string>& to, const std::string& typed);

/// "previous:N" for N windows, 1 to 4096, or a path.
baseline_source parse_baseline(const std::string& typed);

/// "all", or numbers separated by commas, none of them twice. Replaces what was there.
void set_devices(options& into, const std::string& typed);

/// A path, or "fd:N". "-" is standard output: nothing.
std::optional<std::string> parse_destination(const std::string& typed);

/// A time where the unit is one of time (lower case, so that 5m is five minutes and 5M is 5 MiB), else a size.
snapshot_interval parse_interval(const std::string& typed);

/// A number of lines ("1000lines"), else as parse_interval.
window_extent parse_window(const std::string& typed);

/// "raw" or "text"; "true" (the option alone) is raw.
pass_through_mode parse_pass_through_mode(const std::string& typed);

/// "true" or "false" for 1, true, yes, on and 0, false, no, off, whatever their case.
std::string parse_switch(const std::string& typed);

}  // namespace gpuhist::config
