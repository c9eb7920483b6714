// A mistake in the command line, the environment or the configuration. The message names the place, the error and the
// remedy. Exit status 2.
#pragma once

#include <stdexcept>

namespace gpuhist::config {

struct usage_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace gpuhist::config
