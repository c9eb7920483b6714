// The table of options: one row per option, with its names, its help and its effect. The parser, the help, the manual
// page, the completions and the names in configuration files and in the environment are generated from it.
#pragma once

#include "config/options.hpp"
#include "config/size.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::config {

/// The kind of an option's value. It determines the types in a configuration file, and the completions of shells.
enum class value_kind : std::uint8_t {
  flag,      ///< nothing
  choice,    ///< one of `choices`
  list,      ///< some of `choices`, or other values; may be repeated
  text,      ///< anything
  file,      ///< a path
  number,    ///< a whole number
  numbers,   ///< whole numbers, or one of `choices`
  size,      ///< "8MiB"
  interval,  ///< "1s", "64MiB"
  inquiry,   ///< not a setting: prints a text instead of a run
};

/// The commands that take an option: one bit each.
using command_set = unsigned;
constexpr command_set set_of(command taker) { return 1U << static_cast<unsigned>(taker); }

/// What the value of an option decides. Each kind includes those before.
enum class decision : std::uint8_t {
  nothing,  ///< how the work is done, or where results go
  report,   ///< what is derived from counts: measures, conditions
  counts,   ///< what is counted: counts can be added only if these options are equal
  text,     ///< which text is read, and which units are selected: what `gpuhist filter` writes
};

struct option_row;

/// The values of an option, in their order; at least one. Only lists use more than the last one.
using given_values = std::span<const std::string>;

/// Stores values in options. They throw usage_error with the error and the remedy, without the name of the option.
/// Null: the option has no effect there. All are null for an inquiry.
struct option_effect {
  void (*on_counting)(counting_options&, const option_row&, given_values) = nullptr;
  void (*on_run)(file_options&, const option_row&, given_values) = nullptr;
  void (*on_command)(options&, const option_row&, given_values) = nullptr;
  /// The value as text, for identities; empty: the default. Null: the plan of the run has it.
  std::string (*text)(const file_options&) = nullptr;
};

/// What is required of the value and of other options.
///
/// `needs` and `excludes` are keys, separated by blanks: one of `needs` must be given, and none of `excludes`. A key
/// may be followed by a value ("each=line"), and be preceded by the one command for which it holds
/// ("filter:output-dir").
struct option_rules {
  decision decides = decision::nothing;
  number_range range{};
  std::string_view needs{};
  std::string_view excludes{};

  [[nodiscard]] constexpr option_rules between(std::uint64_t lowest, std::uint64_t highest) const {
    return {.decides = decides, .range = {lowest, highest}, .needs = needs, .excludes = excludes};
  }
};

/// One row.
struct option_row {
  std::string_view group;  ///< heading in the help
  std::string_view names;  ///< "-o,--output"
  std::string_view value;  ///< name of the value in the help; empty: no value. "[TOPIC]": the value is optional;
                           ///< "[=WHAT]": the value is optional, and must follow '='
  value_kind kind;
  std::string_view choices;  ///< named values, separated by blanks
  command_set commands;      ///< that take it
  bool rare;                 ///< left out of the short help
  std::string_view help;     ///< one clause, up to 51 columns
  std::string_view detail;   ///< a paragraph: its effect, its values, its default
  std::string_view example;  ///< a whole command
  option_effect effect;
  option_rules rules{};

  [[nodiscard]] bool takes_value() const { return !value.empty(); }
  [[nodiscard]] bool value_is_optional() const { return value.starts_with("[="); }
  [[nodiscard]] bool is_setting() const { return kind != value_kind::inquiry; }
  [[nodiscard]] bool is_flag() const { return kind == value_kind::flag; }
  [[nodiscard]] bool taken_by(command taker) const { return (commands & set_of(taker)) != 0; }
  /// Whether a program can set it, for count_files().
  [[nodiscard]] bool is_of_run() const { return effect.on_run != nullptr || is_of_counter(); }
  /// Whether a program can set it, for a counter.
  [[nodiscard]] bool is_of_counter() const { return effect.on_counting != nullptr; }
  /// Of an empty value.
  [[nodiscard]] std::string remedy() const;
  /// Stores values; all of one option at once.
  void apply(options& to, given_values values) const;

  /// "--output": the name in messages.
  [[nodiscard]] std::string_view long_name() const { return names.substr(names.find("--")); }
  /// "output": the name in a configuration file.
  [[nodiscard]] std::string_view key() const { return long_name().substr(2); }
  /// "-o", or empty.
  [[nodiscard]] std::string_view short_name() const {
    return names.starts_with("--") ? std::string_view{} : names.substr(0, 2);
  }
  /// "--no-stats": turns a flag off; for other options it unsets the value. Empty for an inquiry.
  [[nodiscard]] std::string off_name() const { return is_setting() ? "--no-" + std::string(key()) : std::string{}; }
  /// "GPUHIST_CHUNK_SIZE".
  [[nodiscard]] std::string variable() const;
  [[nodiscard]] std::vector<std::string_view> choice_names() const;
};

/// In the order of the help; rows of a group are adjacent.
std::span<const option_row> option_table();

/// By long, short or --no- name, with dashes; null if unknown. If commands take different options of one name, the
/// first row of them: that of configuration files and of the environment.
const option_row* find_option(std::string_view name);

/// The same, but the row that this command takes, if there is one.
const option_row* find_option(std::string_view name, command taker);

/// The row that a program sets; null if there is none. `key`: "threads".
const option_row* find_run_option(std::string_view key);

/// An option that decides what is counted, and its value.
struct decided_option {
  const option_row* row = nullptr;
  std::string text;
};

/// Those that have one field and are not the default, in the order of the table.
std::vector<decided_option> decided_options(const file_options& run);

/// Checks a value by the range of its option. Throws option_error.
void check_range(std::string_view key, std::uint64_t value);

/// The same for all numbers and sizes of a run that have fields of their own and are not 0.
void check_ranges(const file_options& run);

}  // namespace gpuhist::config
