// Windows and verdicts as lines of JSON, schema gpuhist.result/1.
#pragma once

#include "pipeline/counts/windows/window_events.hpp"
#include "report/formats/report.hpp"

#include <string>
#include <string_view>

namespace gpuhist::pipeline {

/// One line of kind "window". `frame`: an empty snapshot with the partition, the schemes and the measures of the run.
/// `run`: as render_target::run; empty: of a job, whose lines do not depend on when it runs, so they have no times.
/// `baseline`: of this window; null: that of the frame.
std::string window_line(const report& frame, std::string_view run, const closed_window& window,
                        const measures::byte_counts* baseline = nullptr);

/// One line of kind "verdict". `source`: of the windows, if these are numbered by input.
std::string verdict_line(std::string_view run, const window_verdict& verdict, const source_name& source = nullptr);

/// "2026-03-01T12:00:00.000125Z".
std::string iso_8601(window_time time);

}  // namespace gpuhist::pipeline
