#include "config/settings.hpp"

#include "config/command_table.hpp"
#include "config/suggest.hpp"
#include "config/text.hpp"
#include "config/usage_error.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace gpuhist::config {
namespace {

using words = std::vector<std::string>;

/// The option that was probably meant. Dashes are ignored: "-buckets" and "--buckets" are the same mistake. So is
/// "no-", which would make short names more alike.
std::optional<std::string> likely_option(std::string_view typed) {
  typed.remove_prefix(std::min(typed.find_first_not_of('-'), typed.size()));
  const std::string_view prefix = typed.substr(0, typed.starts_with("no-") ? 3 : 0);
  std::vector<std::string_view> names;
  for (const option_row& row : option_table()) {
    if (prefix.empty() || row.is_setting()) names.push_back(row.key());
  }
  const auto meant = likely_name(typed.substr(prefix.size()), names);
  return meant ? std::optional("--" + std::string(prefix) + std::string(*meant)) : std::nullopt;
}

[[noreturn]] void refuse_unknown(std::string_view argument) {
  const std::string_view name = argument.substr(0, argument.find('='));
  const std::string message = on_one_line(name) + ": unknown option; ";
  if (name.starts_with("--no-")) {
    const option_row* const row = find_option("--" + std::string(name.substr(5)));
    if (row != nullptr)
      throw usage_error(message + std::string(row->long_name()) + " is not a setting, so it has no --no- form");
  }
  if (const auto meant = likely_option(name)) throw usage_error(message + "did you mean " + *meant + "?");
  throw usage_error(message + "see gpuhist --help (a file with this name is given after --)");
}

[[noreturn]] void refuse_missing(const option_row& row) {
  const std::string name(row.long_name());
  throw usage_error(name + ": the value is missing; write " + name + " " + std::string(row.value));
}

void refuse_value(std::string_view name) {
  throw usage_error(std::string(name) + ": takes no value; write " + std::string(name) + " alone");
}

/// Checks "--name=value". Each option has its own message for an empty value; CLI11 would read "--output= x" as
/// "--output x".
void check_assignment(command selected, std::string_view argument) {
  const std::size_t sign = argument.find('=');
  if (sign == std::string_view::npos) return;
  const option_row* const row = find_option(argument.substr(0, sign), selected);
  if (row == nullptr) refuse_unknown(argument);
  const std::string_view name = argument.substr(0, sign);
  if (!row->takes_value() || name == row->off_name()) refuse_value(name);
  if (sign + 1 != argument.size()) return;
  check_value({.row = row, .value = {}, .origin = {}});
  refuse_missing(*row);
}

/// CLI11 would read "-buckets" as "-b uckets", and "-o=x" would write a file named "=x".
void check_short(std::string_view argument) {
  const option_row* const row = find_option(argument.substr(0, 2));
  if (row == nullptr || !row->takes_value() || argument.size() < 3) return;
  const std::string name(argument.substr(0, 2));
  const std::string value(argument.substr(argument[2] == '=' ? 3 : 2));
  if (argument[2] == '=') {
    throw usage_error(on_one_line(argument) + ": a short option has no '=' before its value; write " + name + " " +
                      on_one_line(value));
  }
  const std::string_view word = argument.substr(1, argument.find('=') - 1);
  const bool begins_the_name = word.size() >= 3 && row->key().starts_with(word);
  const option_row* const whole = find_option("--" + std::string(word));
  if (!begins_the_name && whole == nullptr) return;
  throw usage_error(on_one_line(argument) + ": unknown option; did you mean " +
                    std::string((whole != nullptr ? whole : row)->long_name()) + "? (or " + name + " " +
                    on_one_line(value) + ", with a blank)");
}

/// Refuses mistakes that CLI11 would read as something else, in all arguments before "--".
void check_spelling(command selected, const words& arguments) {
  for (const std::string& each : arguments) {
    if (each == "--") return;
    if (each.starts_with("--")) {
      check_assignment(selected, each);
    } else if (each.starts_with('-')) {
      check_short(each);
    }
  }
}

/// Refuses "--output --stats". The user writes --output=--stats if the file has that name.
void check_no_option_as_value(const words& arguments, const setting& entry) {
  if (find_option(entry.value) == nullptr || entry.row->kind == value_kind::inquiry) return;
  const std::string name(entry.row->long_name());
  if (std::find(arguments.begin(), arguments.end(), name + "=" + entry.value) != arguments.end()) return;
  throw usage_error(name + ": the value is missing, " + entry.value + " is an option; write " + name + " " +
                    std::string(entry.row->value) + ", or " + name + "=" + entry.value + " if that is the value");
}

/// "a, b and c".
std::string in_sequence(const words& names) {
  std::string made;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) made += i + 1 == names.size() ? " and " : ", ";
    made += names[i];
  }
  return made;
}

bool takes(const command_row& taker, const option_row& row) {
  return find_option(row.long_name(), taker.kind)->taken_by(taker.kind);
}

void check_taken(command selected, const setting& entry, const words& inputs) {
  if (entry.row->taken_by(selected)) return;
  words takers;
  for (const command_row& each : command_table()) {
    if (takes(each, *entry.row)) takers.push_back(each.full_name());
  }
  const std::string message = std::string(entry.row->long_name()) + ": not an option of " +
                              row_of(selected).full_name() + ", but of " + in_sequence(takers);
  for (const std::string& each : inputs) {
    const command_row* const named = selected == command::count ? find_command(each) : nullptr;
    if (named == nullptr || !takes(*named, *entry.row)) continue;
    throw usage_error(message + "; a command is the first argument: " + named->full_name() + " " +
                      std::string(named->usage));
  }
  const std::string_view name = row_of(selected).name;
  throw usage_error(message + "; see gpuhist --help " + std::string(name.empty() ? "count" : name));
}

/// The --help in the arguments, with its topic: the argument after it, whatever that is.
std::optional<setting> help_in(command selected, const words& arguments) {
  const option_row* const help = find_option("--help");
  constexpr std::string_view with_value = "--help=";
  for (std::size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
    if (arguments[i].starts_with(with_value)) return setting{help, arguments[i].substr(with_value.size()), ""};
    if (arguments[i] != help->long_name() && arguments[i] != help->short_name()) continue;
    if (i + 1 < arguments.size() && arguments[i + 1] != "--") return setting{help, arguments[i + 1], ""};
    return setting{help, std::string(row_of(selected).name), ""};
  }
  return std::nullopt;
}

/// Splits the arguments with CLI11. FILEs are the arguments that remain: as a positional with many values, CLI11 would
/// split a file name such as "[a,b]" or "{}".
class splitter {
 public:
  explicit splitter(command selected) {
    app_.set_help_flag();
    app_.allow_extras();
    for (const option_row& row : option_table()) {
      if (find_option(row.long_name(), selected) == &row) add(row);
    }
  }

  command_line split(command selected, const words& arguments) {
    parse(arguments);
    command_line result{.selected = selected, .typed = {}, .inputs = inputs()};
    std::map<const CLI::Option*, std::size_t> seen;
    for (const CLI::Option* const each : app_.parse_order()) {
      setting entry = meanings_.at(each);
      if (!entry.unset) entry.value = each->results().at(seen[each]++);
      // "-qh"; help_in has found all others
      if (entry.row->key() == "help") entry.value = row_of(selected).name;
      check_no_option_as_value(arguments, entry);
      check_taken(selected, entry, result.inputs);
      result.typed.push_back(std::move(entry));
    }
    return result;
  }

 private:
  void add(const option_row& row) {
    std::string names(row.names);
    if (row.is_flag()) names += ",!" + row.off_name();  // "!": its value is "false"
    const bool alone = !row.takes_value() || row.key() == "help";
    keep(alone                     ? app_.add_flag(names)->disable_flag_override()
         : row.value_is_optional() ? app_.add_flag(names)  // its value is "true" without a value
                                   : app_.add_option(names),
         {.row = &row, .value = {}, .origin = {}});
    if (!row.is_setting() || row.is_flag()) return;
    keep(app_.add_flag(row.off_name())->disable_flag_override(),
         {.row = &row, .value = {}, .origin = {}, .unset = true});
  }

  void keep(CLI::Option* added, setting meaning) {
    added->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    meanings_.emplace(added, std::move(meaning));
  }

  void parse(words arguments) {
    std::reverse(arguments.begin(), arguments.end());  // the order that CLI11 expects
    try {
      app_.parse(arguments);
    } catch (const CLI::ArgumentMismatch& mismatch) {
      const std::string message = mismatch.what();  // begins with the name
      const option_row* const row = find_option(message.substr(0, message.find_first_of(": ")));
      if (row != nullptr) refuse_missing(*row);
      throw usage_error(message);
    } catch (const CLI::ParseError& error) {
      throw usage_error(error.what());
    }
  }

  /// The arguments that are not options. After "--" every argument is an input.
  [[nodiscard]] words inputs() const {
    words found;
    bool after_mark = false;
    for (const std::string& each : app_.remaining()) {
      if (!after_mark && each == "--") {
        after_mark = true;
        continue;
      }
      if (!after_mark && each.size() > 1 && each.starts_with('-')) refuse_unknown(each);
      found.push_back(each);
    }
    return found;
  }

  CLI::App app_;
  std::map<const CLI::Option*, setting> meanings_;  // without the values
};

}  // namespace

command_line split_command_line(const std::vector<std::string>& typed) {
  const command_row* const named = typed.empty() ? nullptr : find_command(typed.front());
  const command selected = named == nullptr ? command::count : named->kind;
  const words arguments(typed.begin() + (named == nullptr ? 0 : 1), typed.end());
  if (auto help = help_in(selected, arguments))
    return {.selected = selected, .typed = {*std::move(help)}, .inputs = {}};
  check_spelling(selected, arguments);
  return splitter(selected).split(selected, arguments);
}

}  // namespace gpuhist::config
