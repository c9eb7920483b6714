// The plan of `gpuhist [FILE...]`: the plan of its run, and how its counts are reported (format, output, listing).
#pragma once

#include "config/options.hpp"
#include "gpuhist/options.hpp"
#include "library/counting_plan.hpp"
#include "pipeline/counts/spilled_bytes.hpp"
#include "report/formats/input_table.hpp"
#include "report/formats/report.hpp"
#include "report/output/destination.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::command {

/// The folder for temporary files: that of --temporary-folder, else $TMPDIR, else /tmp; the folder may not exist.
pipeline::spill_folder folder_for_spills(const config::options& typed);

/// What rows of a table have, besides counts of bytes.
struct listed_facts {
  bool has_malformed = false;          ///< inputs: the number of malformed UTF-8 sequences
  std::vector<std::string> matches{};  ///< groups and windows of lines: these expressions
  bool has_values = false;             ///< groups and windows of lines: numbers of the values of any formula
};

/// The tables of inputs and of groups of lines as --columns, --sort and --top ask for them. Throws config::usage_error
/// for unknown names, and for a format or another option that shows no inputs and no groups.
report::input_listing resolve_listing(const config::options& typed, const counting_options& counting,
                                      const listed_facts& rows, const report::report_format& format);

// Options of reports. All throw config::usage_error.

/// The name of --format, or else the format that the suffix of --output promises: .json, .jsonl or .ndjson, .csv,
/// .prom. Suffixes of other formats (.html) are refused; all others, and none, promise nothing. Default: table; with
/// windows jsonl.
std::string format_name_of(const config::options& typed);

/// That of format_name_of. With windows or units: jsonl instead of json, because they are lines.
const report::report_format* resolve_report_format(const config::options& typed);

/// Refuses windows in a format without lines for them.
void check_format_of_windows(const config::options& typed, const report::report_format& format);

/// Refuses selected units in a format without lines for them.
void check_format_of_units(const config::options& typed, const report::report_format& format);

/// Refuses changes in a format without room for them.
void check_format_of_changes(const config::options& typed, const report::report_format& format);

/// How reports of that format are written to their destination. Refuses --append with a format whose reports
/// cannot follow one another, and snapshots that replace one another without a file.
report::writing resolve_writing(const config::options& typed, const report::report_format& format);

/// Whether the output is a stream of results: snapshots, windows, units or alerts. SIGUSR1 then writes a snapshot.
bool writes_snapshots(const config::options& typed, const report::report_format& format);

struct plan : library::counting_plan {
  const report::report_format* format = nullptr;
  std::optional<std::string> output;
  report::writing manner = report::writing::whole;  ///< how reports are written to the output
  bool totals_only = false;
  report::input_listing listing;  ///< of the table
  std::optional<bool> progress;   ///< nothing: on if standard error is a terminal
  bool quiet = false;
};

/// Whether a destination is standard output, by its usual names.
[[nodiscard]] bool names_standard_output(std::string_view name);

/// Resolves options. Throws what make_plan(file_options) throws, and config::usage_error for options of the report.
plan make_plan(const config::options& typed);

/// Throws config::usage_error if an output that does not exist yet, but would be created in place (live output,
/// --append), is also an input. To be called before the output is opened.
void refuse_new_output_as_input(const plan& planned);

}  // namespace gpuhist::command
