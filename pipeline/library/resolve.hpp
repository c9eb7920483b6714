// Options as typed, resolved with the tables and the machine: for the plan, and for commands without a plan.
#pragma once

#include "config/options.hpp"
#include "config/scheme.hpp"
#include "gpu/tally.hpp"
#include "io/format.hpp"
#include "io/zstd/zstd_dictionary.hpp"
#include "pipeline/report/formats/report.hpp"
#include "pipeline/report/output/destination.hpp"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::pipeline {

/// Throws the usage error for a name that a table does not have. `option`: the option's name, or the place where its
/// value was set (options::where).
[[noreturn]] void unknown_name(const std::string& option, std::string_view name,
                               const std::vector<std::string_view>& known);

// All throw config::usage_error.

/// Null if each input's content decides.
const io::format* resolve_input_format(const config::options& typed);

/// Null if none was given.
std::shared_ptr<const io::zstd_dictionary> resolve_dictionary(const config::options& typed);

/// As given, or the number of cores, at most 64.
unsigned resolve_threads(const config::options& typed);

/// Empty if none was given. Refuses a kernel that `engine` (a canonical name) does not have, and a host kernel that
/// cannot count this partition. Does not probe for devices.
std::string resolve_kernel(const config::options& typed, std::string_view engine, const gpu::partition& counted);

/// Default: table. With windows: jsonl, also instead of json, because windows are lines.
const report_format* resolve_report_format(const config::options& typed);

std::vector<config::scheme> resolve_schemes(const config::options& typed);

/// The classes of pairs for --pairs; nothing without it.
std::optional<gpu::partition> resolve_pairs(const config::options& typed, std::span<const config::scheme> schemes);

/// How reports of that format are written to their destination. Refuses --append without a file or with a format whose
/// reports cannot follow one another, and snapshots that replace one another without a file.
writing resolve_writing(const config::options& typed, const report_format& format);

/// Whether snapshots, windows or alerts are written to the output during the run.
bool is_live(const config::options& typed, const report_format& format);

}  // namespace gpuhist::pipeline
