// Windows of a run, resolved to their shape.
#pragma once

#include "gpuhist/options.hpp"
#include "library/option_names.hpp"
#include "pipeline/counts/windows/window_shape.hpp"

#include <optional>

namespace gpuhist::pipeline {

/// Nothing without windows. Throws config::usage_error.
std::optional<window_shape> resolve_windows(const counting_options& options, const option_names& names);

}  // namespace gpuhist::pipeline
