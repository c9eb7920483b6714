// The texts of --help: the short help, a topic, a command, an option, or everything.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::config {

/// `topic` is an option (with or without its dashes), a command, one of help_topic_table, "all", or empty for the short
/// help of 42 lines. "measures" is the topic, "--measures" the option. Lines of prose have at most 80 columns. Throws
/// usage_error for an unknown topic.
std::string help_about(std::string_view topic);

/// All topics, each once and without dashes: "all", the commands, the topics of help_topic_table, the options.
std::vector<std::string_view> help_topics();

}  // namespace gpuhist::config
