// Measures and baselines, resolved with the table of measures.
#pragma once

#include "gpuhist/options.hpp"
#include "library/option_names.hpp"
#include "report/measures/measure.hpp"

namespace gpuhist::pipeline {

/// Throws config::usage_error for an unknown measure, for a measure that needs a baseline if there is none, and for a
/// baseline that has no byte counts or is empty.
measures::measuring resolve_measuring(const counting_options& options, const option_names& names);

}  // namespace gpuhist::pipeline
