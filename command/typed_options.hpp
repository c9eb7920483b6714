// Options as typed, as options of the library, with the file of --baseline.
#pragma once

#include "config/options.hpp"
#include "config/usage_error.hpp"
#include "gpuhist/files.hpp"

#include <string>

namespace gpuhist::command {

/// The error with the place of the value: "GPUHIST_THREADS: ...". The condition of units has several options.
config::usage_error with_place(const config::option_error& error, const config::options& typed);

/// A run of `gpuhist [FILE...]`, or what `gpuhist report` and `gpuhist merge` show of results.
struct run_request {
  file_options run;
  std::string warning{};  ///< a message about the baseline; empty: none
};

/// Reads the file of --baseline. Throws config::option_error for one that cannot be used, and config::usage_error for a
/// filter without a condition.
run_request request_of(const config::options& typed);

}  // namespace gpuhist::command
