// What --help prints: a screen that teaches, the help of a command, all about an option, or everything.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::config {

/// `topic` is an option (with or without its dashes), a command, "all", or nothing for the short help of 40 lines.
/// Lines of prose have 80 columns at most. Throws usage_error for an unknown topic.
std::string help_about(std::string_view topic);

/// Every topic, each once and without dashes: "all", the commands, the options.
std::vector<std::string_view> help_topics();

}  // namespace gpuhist::config
