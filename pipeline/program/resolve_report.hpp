// Options of reports as typed, resolved with the table of formats.
#pragma once

#include "config/options.hpp"
#include "pipeline/report/formats/report.hpp"
#include "pipeline/report/output/destination.hpp"

namespace gpuhist::pipeline {

// All throw config::usage_error.

/// Default: table. With windows: jsonl, also instead of json, because windows are lines.
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
