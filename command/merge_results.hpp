// `gpuhist merge RESULT...`: adds results in files and in the folders of finished jobs.
#pragma once

#include "command/commands.hpp"
#include "config/options.hpp"
#include "io/open_descriptors.hpp"

namespace gpuhist::pipeline {

/// Whether the operands are results to be added, instead of folders with parts of one job: --format or --output is
/// given, or an operand is not a folder with parts, and no option for parts is given.
bool adds_results(const config::options& typed);

/// Writes the sum to --output. Throws config::usage_error for options that do not fit, and for results whose schemes
/// differ; destination_error; std::system_error.
ending merge_results(const config::options& typed, const io::open_descriptors& open_descriptors);

}  // namespace gpuhist::pipeline
