// The groups of lines in JSON: "matches", "groups" and "event_windows" of a result.
#pragma once

#include "pipeline/counts/input_report.hpp"
#include "report/formats/member_writer.hpp"
#include "report/formats/report.hpp"
#include "report/units/group_result.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace gpuhist::report {

/// Adds the members that the result has.
void add_groups(member_writer& to, const run_report& content, const units::group_result& found);

/// The matches in an input; nothing: none were looked for, or they are not known.
std::optional<units::group_counts> matches_of(const run_report& content, const pipeline::input_report& input);

/// Adds them, as those of the result.
void add_matches(member_writer& to, const run_report& content, const pipeline::input_report& input);

/// "2025-10-10T13:55:00Z", with milliseconds unless they are 0. `nanoseconds`: since 1970-01-01 UTC.
std::string utc_text(std::int64_t nanoseconds);

}  // namespace gpuhist::report
