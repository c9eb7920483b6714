// Settings from the configuration file, the environment and the command line, and their precedence: the command line
// overrides the environment, and the environment overrides the file.
#pragma once

#include "config/option_table.hpp"

#include <span>
#include <string>
#include <vector>

namespace gpuhist::config {

/// One value of an option. It is not checked yet.
struct setting {
  const option_row* row = nullptr;
  std::string value;   ///< "true" or "false" for a flag
  std::string origin;  ///< the place, for messages: "GPUHIST_THREADS", "job.toml:3: threads"; empty: command line
  bool unset = false;  ///< "--no-threads": removes earlier values, at this level and at lower ones
};

/// All settings of one level, in their order.
using settings = std::vector<setting>;

/// Throws usage_error, whose text begins with the place, for a value that its option does not accept.
void check_value(const setting& entry);

/// The options of a command. `levels` begin with the lowest. All values of an option are taken from the highest level
/// that sets or unsets it. Options that the command does not take are ignored. Every value is checked, also one that a
/// higher level overrides; conditions are checked by the plan. Throws usage_error that begins with the place.
/// Rules of options (option_rules) are checked for those that the command takes.
options resolve(command selected, std::span<const settings> levels);

/// The options of a program, which were set by name, as those of a run. Throws option_error.
options resolve_run(const settings& given);

// Settings from the environment: GPUHIST_BUCKETS, GPUHIST_CHUNK_SIZE, ...; one variable per option.

/// `environment` holds "NAME=value". Variables that do not begin with GPUHIST_, and empty ones, are ignored. Throws
/// usage_error for a GPUHIST_ variable that names no option, and for a flag that is neither on nor off.
settings settings_of_environment(std::span<const std::string> environment);

}  // namespace gpuhist::config
