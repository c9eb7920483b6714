// The units of a run in the table for people.
#pragma once

#include "report/formats/report.hpp"

#include <string>

namespace gpuhist::pipeline {

/// How many units were seen and selected, the units with the highest values, and the distribution. Lines, with an empty
/// line after each part.
std::string unit_lines(const units::unit_result& found, const render_target& target);

}  // namespace gpuhist::pipeline
