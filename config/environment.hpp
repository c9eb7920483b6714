// Settings from the environment: GPUHIST_BUCKETS, GPUHIST_CHUNK_SIZE, ...; one variable per option.
#pragma once

#include "config/settings.hpp"

#include <span>
#include <string>

namespace gpuhist::config {

/// `environment` holds "NAME=value". Variables that do not begin with GPUHIST_, and empty ones, are ignored. Throws
/// usage_error for a GPUHIST_ variable that names no option, and for a flag that is neither on nor off.
settings settings_of_environment(std::span<const std::string> environment);

}  // namespace gpuhist::config
