// The file of --baseline.
#pragma once

#include "gpuhist/results.hpp"

#include <string>

namespace gpuhist::pipeline {

struct typed_baseline {
  results content;        ///< over the 256 byte values
  std::string warning{};  ///< an incomplete result; empty: none
};

/// `option`: in messages. Throws config::usage_error for a file that cannot be read, has no byte counts or is empty.
typed_baseline read_baseline(const std::string& option, const std::string& path);

}  // namespace gpuhist::pipeline
