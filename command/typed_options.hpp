// Options as typed, as options of the library: counting_options and file_options, with the file of --baseline.
#pragma once

#include "config/options.hpp"
#include "config/usage_error.hpp"
#include "gpuhist/files.hpp"
#include "gpuhist/results.hpp"

#include <string>

namespace gpuhist::pipeline {

// The file of --baseline.

struct typed_baseline {
  results content;        ///< over the 256 byte values
  std::string warning{};  ///< an incomplete result; empty: none
};

/// `option`: in messages. Throws config::usage_error for a file that cannot be read, has no byte counts or is empty.
typed_baseline read_baseline(const std::string& option, const std::string& path);

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

/// Reads the file of --baseline. Throws config::usage_error for names of engines and units that are unknown, for
/// options that require others, and for a baseline that cannot be used.
counting_request counting_request_of(const config::options& typed);

/// The same, and throws config::usage_error for options of inputs that require others.
run_request request_of(const config::options& typed);

}  // namespace gpuhist::pipeline
