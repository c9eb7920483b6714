// --fail-if, --alert-if, --watch and --fail-fast as typed, resolved against what there is to be watched.
#pragma once

#include "config/options.hpp"
#include "config/scheme.hpp"
#include "pipeline/report/conditions/watcher.hpp"
#include "pipeline/report/measures/measuring.hpp"

#include <span>

namespace gpuhist::pipeline {

/// Throws config::usage_error: for names that nothing has, for measures that compare where there is no baseline, and
/// for options that are of use only with a condition.
gates::watch_list resolve_watch(const config::options& typed, std::span<const config::scheme> schemes,
                                const measures::measuring& measuring);

}  // namespace gpuhist::pipeline
