// From --window, --step and --per-input to the windows that are asked for.
#pragma once

#include "config/options.hpp"
#include "pipeline/counts/windows/window_shape.hpp"
#include "pipeline/report/formats/report.hpp"

#include <optional>

namespace gpuhist::pipeline {

/// Nothing where no windows are asked for. Looks at the inputs where windows are of time. Throws config::usage_error.
std::optional<window_shape> resolve_windows(const config::options& typed, const report_format& format);

}  // namespace gpuhist::pipeline
