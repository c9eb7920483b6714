// Options of reports as typed, resolved with the table of formats.
#pragma once

#include "config/options.hpp"
#include "report/formats/report.hpp"
#include "report/output/destination.hpp"

#include <string>

namespace gpuhist::pipeline {

// All throw config::usage_error.

/// The name of --format, or else the format that the suffix of --output promises: .json, .jsonl or .ndjson, .csv,
/// .prom. Suffixes of other formats (.html) are refused; all others, and none, promise nothing. Default: table; with
/// windows jsonl.
std::string format_name_of(const config::options& typed);

/// That of format_name_of. With windows or units: jsonl instead of json, because they are lines.
const report_format* resolve_report_format(const config::options& typed);

/// Refuses windows in a format without lines for them.
void check_format_of_windows(const config::options& typed, const report_format& format);

/// Refuses selected units in a format without lines for them.
void check_format_of_units(const config::options& typed, const report_format& format);

/// How reports of that format are written to their destination. Refuses --append without a file or with a format whose
/// reports cannot follow one another, and snapshots that replace one another without a file.
writing resolve_writing(const config::options& typed, const report_format& format);

/// Whether the output is a stream of results: snapshots, windows, units or alerts. SIGUSR1 then writes a snapshot.
bool writes_snapshots(const config::options& typed, const report_format& format);

}  // namespace gpuhist::pipeline
