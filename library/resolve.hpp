// Names and numbers of options, resolved with the tables and the machine.
#pragma once

#include "config/scheme.hpp"
#include "gpu/tally.hpp"
#include "gpuhist/options.hpp"
#include "io/format.hpp"
#include "io/zstd/zstd_dictionary.hpp"
#include "library/option_names.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::pipeline {

/// Throws the usage error for a name that a table does not have. `option`: the option's name, or the place where its
/// value was set (option_names::where).
[[noreturn]] void unknown_name(const std::string& option, std::string_view name,
                               const std::vector<std::string_view>& known);

/// Throws the usage error for a number that is outside its limits.
void check_range(const std::string& option, std::uint64_t value, std::uint64_t lowest, std::uint64_t highest);

// All throw config::usage_error.

/// Null if each input's content decides: an empty name, or "auto".
const io::format* resolve_input_format(const std::string& name, const option_names& names);

/// Null if the path is empty.
std::shared_ptr<const io::zstd_dictionary> resolve_dictionary(const std::string& path, const option_names& names);

/// The name of the engine in gpu/engines.
std::string_view resolve_engine(engine chosen, const option_names& names);

/// As given, or the number of cores, at most 64.
unsigned resolve_threads(unsigned given, const option_names& names);

/// Refuses a kernel that the engine does not have, and a host kernel that cannot count this partition. Does not probe
/// for devices.
std::string resolve_kernel(const counting_options& options, const gpu::partition& counted, const option_names& names);

std::vector<config::scheme> resolve_schemes(const counting_options& options, const option_names& names);

/// The classes of pairs; nothing if pairs are not counted.
std::optional<gpu::partition> resolve_pairs(const counting_options& options, std::span<const config::scheme> schemes,
                                            const option_names& names);

}  // namespace gpuhist::pipeline
