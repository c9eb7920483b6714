// Measures in reports: their values for a tally, and numbers as text.
#pragma once

#include "report/formats/report.hpp"

#include <string>
#include <vector>

namespace gpuhist::pipeline {

/// The requested measures of a tally; empty if none are requested.
std::vector<measures::measurement> measurements_of(const report& content, const gpu::tally& counts);

/// The shortest text that is parsed to the same number.
std::string shortest(double value);

/// Six digits: "7.87532", "1.5e-09". Whole numbers have all digits: "-12,345".
std::string measure_text(double value);

}  // namespace gpuhist::pipeline
