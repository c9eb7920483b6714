// A report: the counts of a run with schemes and measures. Also the table of report formats.
#pragma once

#include "io/file_state.hpp"
#include "pipeline/counts/partitioning.hpp"
#include "pipeline/counts/run_counts.hpp"
#include "pipeline/flow/statistics/run_stats.hpp"
#include "report/measures/measure.hpp"
#include "report/units/unit_renderer.hpp"
#include "report/units/unit_result.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::report {

/// The counts of a run with schemes and measures: a result at the end of a run, or a snapshot during it.
struct run_report : pipeline::run_counts {
  enum class kind { result, snapshot };

  kind type = kind::result;
  std::vector<pipeline::scheme_view> schemes;
  bool byte_counts = false;       ///< print the 256 counts; the partition is then the identity
  measures::measuring measuring;  ///< of totals and inputs; the partition is the identity if any is requested
  bool ignore_case = false;       ///< the schemes map A-Z to a-z
  std::optional<pipeline::run_stats> stats;
  std::size_t earlier_inputs = 0;  ///< inputs of the totals that an earlier run has written, and that `inputs` lacks
  std::optional<units::unit_result> units;  ///< with --each
  std::vector<std::string> matches;         ///< names of --match, in the order of observed_numbers::matches
  std::string
      counted_with;  ///< for lines: what the meaning of the counts depends on, an object of JSON; empty: unknown
  std::function<std::optional<io::file_state>(const std::string& input)> state_of;  ///< for lines; may be empty
};

struct input_listing;

/// Sections of the table of a report that can be left out or chosen.
struct table_sections {
  bool inputs = true;  ///< a row for each input
  bool causes = true;  ///< causes of incomplete inputs, and notices; false: the run has printed them on standard error
  const input_listing* listing = nullptr;  ///< which inputs and columns; borrowed; null: the usual ones
};

/// How a report is shown: properties of its destination, and what is left out.
struct render_target {
  bool unicode = true;    ///< bars may be block characters
  unsigned width = 80;    ///< columns
  unsigned height = 0;    ///< lines of a terminal: the rows of inputs are as many as fit; 0: any number
  bool color = false;     ///< escape sequences for colours are allowed
  bool terminal = false;  ///< a terminal: text that would move its cursor is escaped
  table_sections sections{};
  bool first = true;                ///< nothing was written before: formats with a header write it
  bool inputs_are_written = false;  ///< format.input_line has written all inputs: the rest of the result follows
  std::string_view run{};           ///< from make_run_id(), for each line of jsonl; empty: lines do not name the run
};

/// Columns for text of inputs: a file is not cut to the width of a terminal.
std::size_t text_width(const render_target& target);

/// The counts that a report shows for people: a snapshot includes unverified text.
gpu::tally shown_counts(const run_report& content, const gpu::tally& verified, const gpu::tally& unverified);

/// The requested measures of a tally; empty if none are requested.
std::vector<measures::measurement> measurements_of(const run_report& content, const gpu::tally& counts);

/// The number of skipped names, of all causes.
std::uint64_t skipped_in_all(const pipeline::run_counts& counts);

/// The cause for reports; "unknown" if it is empty.
std::string_view cause_of(const pipeline::skipped_names& names);

/// Receives a text piece by piece.
using text_sink = std::function<void(std::string_view)>;

/// Renders the whole text, with its final newline, piece by piece: memory does not grow with the number of inputs.
/// Throws what the sink throws, and std::system_error if inputs cannot be read back.
using renderer = void (*)(const run_report&, const render_target&, const text_sink&);

/// One row of the table of report formats.
struct report_format {
  std::string_view name;
  renderer render;
  /// The lines of units that --where selects, before the result; null: it has none. Borrows both: `frame`, the schemes
  /// and measures of the run, and `run`, as render_target::run.
  std::unique_ptr<const units::unit_renderer> (*unit_lines)(const run_report& frame, std::string_view run) = nullptr;
  /// A line for an input, as soon as it is finished; null: inputs are a part of the result. `frame`: as above.
  std::string (*input_line)(const run_report& frame, std::string_view run,
                            const pipeline::input_report& input) = nullptr;
  bool carries_stats = false;   ///< --stats is part of the report; otherwise it is printed on standard error
  bool carries_alerts = false;  ///< conditions that hold are lines before the result
  bool names_run = false;       ///< every line names its run
  bool whole = false;           ///< a later report replaces an earlier one instead of following it
};

void render_table(const run_report& content, const render_target& target, const text_sink& out);
void render_json(const run_report& content, const render_target& target, const text_sink& out);
void render_jsonl(const run_report& content, const render_target& target, const text_sink& out);
void render_csv(const run_report& content, const render_target& target, const text_sink& out);
void render_prometheus(const run_report& content, const render_target& target, const text_sink& out);

/// As report_format::unit_lines.
std::unique_ptr<const units::unit_renderer> unit_text_lines(const run_report& frame, std::string_view run);
std::unique_ptr<const units::unit_renderer> unit_json_lines(const run_report& frame, std::string_view run);

/// A line for an input. `frame`: the schemes and measures of the run.
std::string input_json_line(const run_report& frame, std::string_view run, const pipeline::input_report& input);

/// Text of --stats for people: the engine and why it was chosen, one line per stage, and what limited the run.
std::string render_stats(const pipeline::run_stats& stats, const render_target& target);

/// The table of formats: table, json, jsonl, csv, prometheus.
std::span<const report_format> report_formats();

/// Finds a format by name; null if there is none.
const report_format* find_report_format(std::string_view name);

/// Bytes as text that is safe to print on a terminal: config::on_one_line.
std::string printable(std::string_view raw);

/// The identifier of a run, which separates the lines of several runs that write to one destination: 16 hexadecimal
/// digits: 64 random bits of the system or, if there are none, of the clock and the process id. Throws only
/// std::bad_alloc.
std::string make_run_id();

}  // namespace gpuhist::report
