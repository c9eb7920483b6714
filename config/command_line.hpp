// What stands on the command line, taken apart: the command, its options and its inputs. Nothing is applied yet.
#pragma once

#include "config/settings.hpp"

#include <string>
#include <vector>

namespace gpuhist::config {

struct command_line {
  command what = command::count;
  settings typed;
  std::vector<std::string> inputs;
};

/// Takes the words behind the program's name apart. Where one of them asks for help, that is all there is in the
/// result: it wins over whatever else is wrong. Throws usage_error for an option that is unknown, that the command does
/// not take, or whose value is missing.
command_line split_command_line(const std::vector<std::string>& typed);

}  // namespace gpuhist::config
