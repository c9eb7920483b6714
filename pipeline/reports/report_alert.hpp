// What a condition found, as a line of JSON among those of a report.
#pragma once

#include "pipeline/gates/watcher.hpp"

#include <string>

namespace gpuhist::pipeline {

/// An object of kind "alert" in schema gpuhist.result/1, with its line end.
std::string alert_line(const gates::firing& what);

}  // namespace gpuhist::pipeline
