// The lines of --utf8 in the table for people.
#pragma once

#include "report/formats/report.hpp"

#include <string>

namespace gpuhist::pipeline {

/// The number of malformed sequences and the place of the first one, and the scripts with at least 0.1 % of the code
/// points, the most frequent first. Ends with an empty line. Empty if the text was not validated. Reads the inputs up
/// to the first one that is malformed.
std::string utf8_lines(const report& content, const render_target& target);

}  // namespace gpuhist::pipeline
