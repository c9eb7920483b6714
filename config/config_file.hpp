// Settings from a configuration file in TOML. Its keys are the long names of options without their dashes.
#pragma once

#include "config/settings.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::config {

/// Reads the file. `named_by` is the option or variable that names it ("--config", "GPUHIST_CONFIG"): messages about a
/// file that cannot be read begin with it. All others begin with FILE:LINE. Throws usage_error for a file that cannot
/// be read, is larger than 1 MiB or is not TOML, for a key that is not an option, and for a value of the wrong type.
settings settings_of_file(const std::string& path, std::string_view named_by);

/// A job file of `gpuhist batch`.
struct job_file {
  settings options;
  std::vector<std::string> inputs;  ///< names, patterns and directories
};

/// Reads the file: keys are the options of `gpuhist batch`, with dashes or underscores, and `inputs`. Messages begin
/// with FILE:LINE:COLUMN. Throws usage_error as above, also for options of other commands.
job_file read_job_file(const std::string& path);

}  // namespace gpuhist::config
