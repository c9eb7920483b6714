// `gpuhist diff` of two results: the kinds of lines that they contain.
#pragma once

#include "command/commands.hpp"
#include "config/options.hpp"
#include "io/open_descriptors.hpp"

#include <string>
#include <vector>

namespace gpuhist::command {

/// Whether all operands are results of gpuhist in files. Throws config::usage_error if only some are.
bool are_results(const std::vector<std::string>& operands);

/// Precondition: there are two, and are_results(). Throws config::usage_error for results without kinds of lines, or of
/// different keys or schemes; std::system_error.
ending compare_results(const config::options& typed, const io::open_descriptors& open_descriptors);

}  // namespace gpuhist::command
