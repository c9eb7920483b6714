// The sections of the table for people that only some runs have: pairs, UTF-8 and units.
#pragma once

#include "report/formats/report.hpp"

#include <string>

namespace gpuhist::report {

/// Pairs of neighbouring bytes of one scheme: a heat map, the conditional entropy, and the pairs that are more frequent
/// than in independent bytes. Ends with an empty line. Empty if pairs are not counted.
std::string pair_lines(const pipeline::scheme_view& view, const gpu::tally& counts, const render_target& target);

/// The lines of --utf8: the number of malformed sequences and the place of the first one, and the scripts with at least
/// 0.1 % of the code points, the most frequent first. Ends with an empty line. Empty if the text was not validated.
/// Reads the inputs up to the first one that is malformed.
std::string utf8_lines(const run_report& content, const render_target& target);

/// How many units were seen and selected, the units with the highest values, the distribution, and groups of lines.
/// Lines, with an empty line after each section. Precondition: the report has units.
std::string unit_lines(const run_report& content, const render_target& target);

/// A row for each rule: the units for which it holds, and those for which it is the first that holds.
std::string rule_lines(const units::unit_result& found, const render_target& target);

}  // namespace gpuhist::report
