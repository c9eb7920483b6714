// Measures as reports write them: of whose counts, and their numbers as text.
#pragma once

#include "pipeline/report/formats/report.hpp"

#include <string>
#include <vector>

namespace gpuhist::pipeline {

/// Those that the report asks for, of a tally of it; none where none are asked for.
std::vector<measures::measurement> measurements_of(const report& content, const gpu::tally& counts);

/// The shortest form that is read back as the same number.
std::string shortest(double value);

/// Six digits: "7.87532", "1.5e-09"; a whole number with all of its own: "12,345".
std::string measure_text(double value);

}  // namespace gpuhist::pipeline
