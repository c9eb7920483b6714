// The table of the command's options: one row an option, with its names, its help and its effect. The parser, the help,
// the manual page, the completions and the names in configuration files and in the environment all come from it.
#pragma once

#include "config/options.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::config {

/// What an option takes: decides which types it may have in a configuration file, and what shells complete.
enum class value_kind : std::uint8_t {
  flag,      ///< nothing
  choice,    ///< one of `choices`
  list,      ///< some of `choices`, or more; no choices: anything; may be repeated
  text,      ///< anything
  file,      ///< a path
  number,    ///< a whole number
  numbers,   ///< whole numbers, or one of `choices`
  size,      ///< "8MiB"
  interval,  ///< "1s", "64MiB"
  inquiry,   ///< no setting: answered with a text instead of a run
};

/// The commands that take an option: a bit each.
using command_set = unsigned;
constexpr command_set set_of(command what) { return 1U << static_cast<unsigned>(what); }

/// One row. `apply` puts one value ("true" or "false" for a flag) into the options; it throws usage_error saying what
/// is wrong and what would be right, without the name of the option. Null for an inquiry.
struct option_row {
  std::string_view group;  ///< heading in the help
  std::string_view names;  ///< "-o,--output"
  std::string_view value;  ///< what the help calls the value; empty: there is none. "[TOPIC]": may be left out;
                           ///< "[=WHAT]": so, too, and stands behind a '=' if anywhere
  value_kind kind;
  std::string_view choices;  ///< values that have names, separated by blanks
  command_set commands;      ///< which take it
  bool rare;                 ///< only in the long help
  std::string_view help;     ///< one clause, up to 51 columns
  std::string_view detail;   ///< a paragraph: what it does, its values, its default
  std::string_view example;  ///< a whole command
  void (*apply)(options&, const std::string&);

  [[nodiscard]] bool takes_value() const { return !value.empty(); }
  [[nodiscard]] bool value_is_optional() const { return value.starts_with("[="); }
  [[nodiscard]] bool is_setting() const { return kind != value_kind::inquiry; }
  [[nodiscard]] bool is_flag() const { return kind == value_kind::flag; }
  [[nodiscard]] bool taken_by(command what) const { return (commands & set_of(what)) != 0; }

  /// "--output": what messages call it.
  [[nodiscard]] std::string_view long_name() const { return names.substr(names.find("--")); }
  /// "output": what a configuration file calls it.
  [[nodiscard]] std::string_view key() const { return long_name().substr(2); }
  /// "-o", or nothing.
  [[nodiscard]] std::string_view short_name() const {
    return names.starts_with("--") ? std::string_view{} : names.substr(0, 2);
  }
  /// "--no-stats": turns a flag off, takes the value of another option back. Nothing for an inquiry.
  [[nodiscard]] std::string off_name() const { return is_setting() ? "--no-" + std::string(key()) : std::string{}; }
  /// "GPUHIST_CHUNK_SIZE".
  [[nodiscard]] std::string variable() const;
  [[nodiscard]] std::vector<std::string_view> choice_names() const;
};

/// In the order of the help; rows of one group stand together.
std::span<const option_row> option_table();

/// By long, short or --no- name, with its dashes; or null.
const option_row* find_option(std::string_view name);

}  // namespace gpuhist::config
