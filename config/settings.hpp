// Settings from the configuration file, the environment and the command line, and their precedence: the command line
// overrides the environment, and the environment overrides the file.
#pragma once

#include "config/option_table.hpp"

#include <span>
#include <string>
#include <string_view>
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

/// `environment` holds "NAME=value". Variables that do not begin with GPUHIST_, and empty ones, are ignored, and so
/// is GPUHIST_CONDITION, which --exec sets. Throws
/// usage_error for a GPUHIST_ variable that names no option, and for a flag that is neither on nor off.
settings settings_of_environment(std::span<const std::string> environment);

// Settings from a configuration file in TOML. Its keys are the long names of options without their dashes.

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

// The command line, split into the command, its options and its inputs. Nothing is applied yet.

struct command_line {
  command selected = command::count;
  settings typed;
  std::vector<std::string> inputs;
};

/// Splits the words after the program's name. If one of them is --help, the result holds only that option, even if
/// other words are wrong. Throws usage_error for an option that is unknown, that the command does not take, or whose
/// value is missing.
command_line split_command_line(const std::vector<std::string>& typed);

}  // namespace gpuhist::config
