// The topics of --help that are neither options nor commands: a screen of text each.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace gpuhist::config {

struct help_topic {
  std::string_view name;  ///< "conditions"
  std::string (*text)();  ///< at most 40 lines of 80 columns
};

std::span<const help_topic> help_topic_table();

/// By name, or null.
const help_topic* find_help_topic(std::string_view name);

}  // namespace gpuhist::config
