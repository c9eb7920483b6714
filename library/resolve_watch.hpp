// Conditions and what they are checked for, resolved with the schemes and measures of the run.
#pragma once

#include "gpuhist/options.hpp"
#include "library/resolve_formula.hpp"
#include "report/conditions/watcher.hpp"

namespace gpuhist::pipeline {

/// Throws config::usage_error for unknown names, for measures that need a baseline if there is none, and for options
/// that require a condition if there is none.
gates::watch_list resolve_watch(const counting_options& options, const formula_context& known);

}  // namespace gpuhist::pipeline
