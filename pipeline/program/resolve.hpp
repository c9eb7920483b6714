// Options as typed, resolved against the tables and the machine: for the plan, and for commands that need no plan.
#pragma once

#include "config/options.hpp"
#include "config/scheme.hpp"
#include "gpu/tally.hpp"
#include "io/format.hpp"
#include "io/zstd/zstd_dictionary.hpp"
#include "pipeline/report/formats/report.hpp"
#include "pipeline/report/output/destination.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::pipeline {

/// Throws the usage error of a name that is in none of the rows of a table. `option` is what messages call the option:
/// its name, or where its value came from.
[[noreturn]] void unknown_name(const std::string& option, std::string_view name,
                               const std::vector<std::string_view>& known);

// All throw config::usage_error.

/// Null where each input's content decides.
const io::format* resolve_input_format(const config::options& typed);

/// Null where none was given.
std::shared_ptr<const io::zstd_dictionary> resolve_dictionary(const config::options& typed);

/// As many as were asked for, or as there are cores.
unsigned resolve_threads(const config::options& typed);

/// Empty where none was asked for. Refuses one that `engine` (a canonical name) does not have or, of the host, that
/// cannot count this partition. Looks for no device.
std::string resolve_kernel(const config::options& typed, std::string_view engine, const gpu::partition& counted);

/// The table where no format is given. With windows the default is jsonl, also in place of json: windows are lines.
const report_format* resolve_report_format(const config::options& typed);

std::vector<config::scheme> resolve_schemes(const config::options& typed);

/// How reports of that format come to their destination. Refuses --append where nothing can be appended to, and
/// snapshots that replace one another where there is no file to replace.
writing resolve_writing(const config::options& typed, const report_format& format);

/// Whether more than the result is written to the output, while the run lasts.
bool is_live(const config::options& typed, const report_format& format);

}  // namespace gpuhist::pipeline
