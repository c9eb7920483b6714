// Conditions and what they are checked for, resolved with the schemes and measures of the run.
#pragma once

#include "config/scheme.hpp"
#include "gpuhist/options.hpp"
#include "pipeline/library/option_names.hpp"
#include "pipeline/report/conditions/watcher.hpp"
#include "pipeline/report/measures/measuring.hpp"

#include <span>

namespace gpuhist::pipeline {

/// Throws config::usage_error for unknown names, for measures that need a baseline if there is none, and for options
/// that require a condition if there is none.
gates::watch_list resolve_watch(const counting_options& options, std::span<const config::scheme> schemes,
                                const measures::measuring& measuring, const option_names& names);

}  // namespace gpuhist::pipeline
