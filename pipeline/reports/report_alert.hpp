// What a condition found, as a line of JSON among those of a report.
#pragma once

#include "pipeline/gates/watcher.hpp"

#include <string>
#include <string_view>

namespace gpuhist::pipeline {

/// An object of kind "alert" in schema gpuhist.result/1, with its line end. `run`: as render_target::run.
std::string alert_line(const gates::firing& what, std::string_view run);

}  // namespace gpuhist::pipeline
