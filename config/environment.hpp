// Settings from the environment: GPUHIST_BUCKETS, GPUHIST_CHUNK_SIZE, ... one variable an option.
#pragma once

#include "config/settings.hpp"

#include <span>
#include <string>

namespace gpuhist::config {

/// `environment` holds "NAME=value"; what does not begin with GPUHIST_ is not ours, and an empty value is as if unset.
/// Throws usage_error for a GPUHIST_ variable that is no option, and for a flag that is neither on nor off.
settings settings_of_environment(std::span<const std::string> environment);

}  // namespace gpuhist::config
