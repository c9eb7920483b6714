// Options as typed, as options of the library, with the file of --baseline.
#pragma once

#include "config/options.hpp"
#include "config/usage_error.hpp"
#include "gpuhist/files.hpp"

#include <string>

namespace gpuhist::pipeline {

/// The error with the place of the value: "GPUHIST_THREADS: ...". The condition of units has several options.
config::usage_error with_place(const config::option_error& error, const config::options& typed);

/// What is counted and checked, and by what.
struct counting_request {
  counting_options counting;
  std::string warning{};  ///< a message about the baseline; empty: none
};

/// A run of `gpuhist [FILE...]`.
struct run_request {
  file_options run;
  std::string warning{};  ///< as above
};

/// Reads the file of --baseline. Throws config::option_error for one that cannot be used.
counting_request counting_request_of(const config::options& typed);

/// The same, and throws config::usage_error for a filter without a condition.
run_request request_of(const config::options& typed);

}  // namespace gpuhist::pipeline
