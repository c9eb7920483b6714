// Splits the command line into the command, its options and its inputs. Nothing is applied yet.
#pragma once

#include "config/settings.hpp"

#include <string>
#include <vector>

namespace gpuhist::config {

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
