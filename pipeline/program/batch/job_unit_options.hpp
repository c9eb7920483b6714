// Which windows and units a batch job can have.
#pragma once

#include "config/options.hpp"

namespace gpuhist::pipeline {

/// Throws config::usage_error for those whose results would depend on when and in which order inputs are read.
void check_unit_options(const config::options& typed);

}  // namespace gpuhist::pipeline
