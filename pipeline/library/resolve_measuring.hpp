// --measures and --baseline as typed, resolved with the table of measures and the file of an earlier result.
#pragma once

#include "config/options.hpp"
#include "pipeline/report/measures/measuring.hpp"

namespace gpuhist::pipeline {

/// Reads the file of the baseline. Throws config::usage_error for an unknown measure, for a measure that needs a
/// baseline if there is none, and for a baseline that cannot be read, has no byte counts or is empty.
measures::measuring resolve_measuring(const config::options& typed);

}  // namespace gpuhist::pipeline
