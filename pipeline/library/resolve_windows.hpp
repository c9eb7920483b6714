// --window, --step and --per-input as typed, resolved to the shape of the windows.
#pragma once

#include "config/options.hpp"
#include "pipeline/counts/windows/window_shape.hpp"
#include "pipeline/report/formats/report.hpp"

#include <optional>

namespace gpuhist::pipeline {

/// Nothing without --window. For windows of time, looks whether the inputs are files. Throws config::usage_error.
std::optional<window_shape> resolve_windows(const config::options& typed, const report_format& format);

}  // namespace gpuhist::pipeline
