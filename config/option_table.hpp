// The table of the command's options: one row an option, with its names, its help and its effect.
#pragma once

#include "config/options.hpp"

#include <span>
#include <string>
#include <string_view>

namespace gpuhist::config {

/// One row. `apply` puts one typed value (empty for a flag) into the options; it throws usage_error saying what is
/// wrong and what would be right, without the name of the option.
struct option_row {
  std::string_view group;  ///< heading in the help
  std::string_view names;  ///< "-o,--output"
  std::string_view value;  ///< what the help calls the value; empty: a flag
  std::string_view help;
  void (*apply)(options&, const std::string&);

  /// "--output": what messages call it.
  [[nodiscard]] std::string_view long_name() const { return names.substr(names.find("--")); }
};

/// In the order of the help.
std::span<const option_row> option_table();

}  // namespace gpuhist::config
