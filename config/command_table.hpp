// The table of the commands: what `gpuhist` alone does, and what a first argument such as `report` makes it do.
#pragma once

#include "config/options.hpp"

#include <span>
#include <string>
#include <string_view>

namespace gpuhist::config {

/// What the help of a command says of an option that it takes in a way of its own.
struct option_note {
  std::string_view key;   ///< the long name without its dashes
  std::string_view help;  ///< one clause
};

struct command_row {
  command what;
  std::string_view name;    ///< the first argument that asks for it; empty: none does
  std::string_view usage;   ///< its operands: "[OPTIONS] [FILE...]"
  std::string_view help;    ///< one clause
  std::string_view detail;  ///< a paragraph
  std::string_view example;
  option_note note{};  ///< of one option; empty: of none

  /// "gpuhist report": what messages call it.
  [[nodiscard]] std::string full_name() const { return name.empty() ? "gpuhist" : "gpuhist " + std::string(name); }
};

/// Counting first.
std::span<const command_row> command_table();

const command_row& row_of(command what);

/// By the name of a subcommand, or null.
const command_row* find_command(std::string_view name);

}  // namespace gpuhist::config
