// Windows as lines of JSON, of schema gpuhist.result/1.
#pragma once

#include "pipeline/report.hpp"
#include "pipeline/windows/window_events.hpp"

#include <string>

namespace gpuhist::pipeline {

/// One line of kind "window". `frame`: a snapshot with the partition and the schemes of the run.
std::string window_line(const report& frame, const closed_window& window);

/// One line of kind "verdict".
std::string verdict_line(const window_verdict& verdict);

/// "2026-03-01T12:00:00.000125Z".
std::string iso_8601(window_time time);

}  // namespace gpuhist::pipeline
