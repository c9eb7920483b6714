// --measures and --baseline as typed, resolved against the table of measures and the file of an earlier result.
#pragma once

#include "config/options.hpp"
#include "pipeline/report/measures/measuring.hpp"

namespace gpuhist::pipeline {

/// Reads the file of the baseline. Throws config::usage_error: for a name that is no measure, for one that compares
/// where there is nothing to compare with, and for a baseline that cannot be read, keeps no byte counts or is empty.
measures::measuring resolve_measuring(const config::options& typed);

}  // namespace gpuhist::pipeline
