// The JSON formats, schema gpuhist.result/1: the report as one line, as lines of inputs and of the result, and lines of
// units, windows and verdicts.
#pragma once

#include "io/file_state.hpp"
#include "pipeline/counts/windows/window_events.hpp"
#include "report/formats/member_writer.hpp"
#include "report/formats/report.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

namespace gpuhist::report {

/// Adds "buckets": the counts of each bucket of each scheme.
void add_buckets(member_writer& to, const run_report& content, const gpu::tally& counts);

/// Adds "byte_counts": those of the 256 byte values. The partition is the identity.
void add_byte_counts(member_writer& to, const run_report& content, const gpu::tally& counts);

/// Adds "measures", if the report has some. `baseline`: of these counts; null: that of the report.
void add_measures(member_writer& to, const run_report& content, const gpu::tally& counts,
                  const measures::byte_counts* baseline = nullptr);

/// Adds "name" and, if it is not UTF-8, "name_base64", which has the exact bytes.
void add_name(member_writer& to, const std::string& name);

/// Adds the first members of every document: its kind, the schema and, if not empty, the run.
void add_beginning(member_writer& to, std::string_view kind, std::string_view run);

/// A hash of the buckets of a scheme and their members, 16 hexadecimal digits, as in `scheme_members`: schemes of one
/// name with other members differ.
std::string hash_of_members(const config::scheme& of);

/// Adds the members of a result with its totals, without inputs and statistics.
void add_totals(member_writer& to, const run_report& content, std::string_view run);

/// The state of a file, which state_from() reads.
nlohmann::ordered_json state_as_json(const io::file_state& state);

/// One line with its line end. Bytes that are not UTF-8 become U+FFFD; `name_base64` has the exact bytes of a name.
std::string as_line(const nlohmann::ordered_json& object);

/// Whether a line has the times of its window. Lines of a job have none, because they do not depend on when it runs.
enum class window_times { shown, hidden };

/// One line of kind "window". `frame`: an empty snapshot with the partition, the schemes and the measures of the run.
/// `run`: as render_target::run. `baseline`: of this window; null: that of the frame.
std::string window_line(const run_report& frame, std::string_view run, const pipeline::closed_window& window,
                        const measures::byte_counts* baseline, window_times times = window_times::shown);

/// One line of kind "verdict". `source`: of the windows, if these are numbered by input.
std::string verdict_line(std::string_view run, const pipeline::window_verdict& verdict,
                         const pipeline::source_name& source = nullptr);

/// "2026-03-01T12:00:00.000125Z".
std::string iso_8601(pipeline::window_time time);

}  // namespace gpuhist::report
