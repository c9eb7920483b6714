// What changed in logs (units::change_result), in the formats of reports.
#pragma once

#include "report/formats/member_writer.hpp"
#include "report/formats/report.hpp"
#include "report/units/change_result.hpp"

#include <string>
#include <string_view>

namespace gpuhist::report {

/// The members of a result.
void add_changes(member_writer& to, const run_report& content, const units::change_result& found);

/// The changes, a paragraph each, and what was compared.
std::string change_lines(const run_report& content, const units::change_result& found, const render_target& target);

/// "kind", "match", "rate", "length", "bytes_of_class".
std::string_view series_name(changes::difference::series of);

/// The kind, the expression or the bucket of a difference; empty: it is of all lines.
std::string subject_of(const run_report& content, const units::found_difference& of);

inline constexpr std::size_t any_width = std::size_t{1} << 20U;  ///< for words_of(): nothing is cut

/// A difference of the change `index` in words: "lines of the kind `upstream timed out <ip>` from 0 to 12 %"; of a
/// comparison with "new: " or "vanished: " if it is. `width`: in columns, of which the name of the kind gets what
/// remains.
std::string words_of(const run_report& content, const units::change_result& found, std::size_t index,
                     std::size_t difference, std::size_t width);

}  // namespace gpuhist::report
