// The groups of lines in JSON: "matches", "groups" and "event_windows" of a result, and lines of windows.
#pragma once

#include "pipeline/counts/input_report.hpp"
#include "report/formats/member_writer.hpp"
#include "report/formats/report.hpp"
#include "report/units/group_result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gpuhist::report {

/// Adds the members that the result has.
void add_groups(member_writer& to, const run_report& content, const units::group_result& found);

/// One line of kind "event_window". `frame`, `run` and `baseline`: as those of window_line().
std::string event_window_line(const run_report& frame, std::string_view run, const units::closed_event_window& closed,
                              const measures::byte_counts* baseline);

/// Adds what is known of the values of the distribution.
void add_values(member_writer& to, const units::value_summary& of);

/// The matches in an input or window; nothing: none were looked for, or they are not known.
std::optional<units::group_counts> matches_of(const run_report& content, const pipeline::input_report& input);

/// Adds them, as those of the result.
void add_matches(member_writer& to, const run_report& content, const pipeline::input_report& input);
void add_matches(member_writer& to, const run_report& content, const pipeline::observed_numbers& of_window);

/// "2025-10-10T13:55:00Z", with milliseconds unless they are 0. `nanoseconds`: since 1970-01-01 UTC.
std::string utc_text(std::int64_t nanoseconds);

/// Nanoseconds since 1970-01-01 UTC of such a text; nothing: it is none.
std::optional<std::int64_t> time_of_utc_text(std::string_view text);

}  // namespace gpuhist::report
