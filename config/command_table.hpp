// The table of the commands: counting (`gpuhist` without a command), report, devices, repack, filter, batch, merge,
// changes.
#pragma once

#include "config/options.hpp"

#include <span>
#include <string>
#include <string_view>

namespace gpuhist::config {

/// Replaces the help of an option that has another meaning for the command.
struct option_note {
  std::string_view key;   ///< the long name without its dashes
  std::string_view help;  ///< one clause
};

struct command_row {
  command kind;
  std::string_view name;    ///< the first argument that selects it; empty for counting
  std::string_view usage;   ///< operands: "[OPTIONS] [FILE...]"
  std::string_view help;    ///< one clause
  std::string_view detail;  ///< a paragraph
  std::string_view example;
  option_note note{};  ///< empty: none

  /// "gpuhist report", as messages name it.
  [[nodiscard]] std::string full_name() const { return name.empty() ? "gpuhist" : "gpuhist " + std::string(name); }
};

/// Counting first.
std::span<const command_row> command_table();

const command_row& row_of(command kind);

/// By the name of a subcommand, or null.
const command_row* find_command(std::string_view name);

}  // namespace gpuhist::config
