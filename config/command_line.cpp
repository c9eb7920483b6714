#include "config/command_line.hpp"

#include "config/command_table.hpp"
#include "config/quote.hpp"
#include "config/suggest.hpp"
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

/// Names without dashes: "-buckets" and "--buckets" are the same slip.
std::optional<std::string> meant_by(std::string_view typed) {
  words known;
  for (const option_row& row : option_table()) {
    known.emplace_back(row.key());
    if (row.is_setting()) known.push_back("no-" + std::string(row.key()));
  }
  const std::vector<std::string_view> names(known.begin(), known.end());
  typed.remove_prefix(std::min(typed.find_first_not_of('-'), typed.size()));
  const auto meant = likely_name(typed, names);
  return meant ? std::optional("--" + std::string(*meant)) : std::nullopt;
}

[[noreturn]] void refuse_unknown(std::string_view argument) {
  const std::string_view name = argument.substr(0, argument.find('='));
  const std::string message = on_one_line(name) + ": unknown option; ";
  if (name.starts_with("--no-")) {
    const option_row* const row = find_option("--" + std::string(name.substr(5)));
    if (row != nullptr)
      throw usage_error(message + std::string(row->long_name()) + " is no setting that is taken back");
  }
  if (const auto meant = meant_by(name)) throw usage_error(message + "did you mean " + *meant + "?");
  throw usage_error(message + "see gpuhist --help (a file of that name goes after --)");
}

[[noreturn]] void refuse_missing(const option_row& row) {
  const std::string name(row.long_name());
  throw usage_error(name + ": the value is missing; write " + name + " " + std::string(row.value));
}

void refuse_value(std::string_view name) {
  throw usage_error(std::string(name) + ": takes no value; write " + std::string(name) + " alone");
}

/// "--name=value". An empty value is the option's own matter, but CLI11 would take "--output= x" for "--output x".
void check_assignment(std::string_view argument) {
  const std::size_t sign = argument.find('=');
  if (sign == std::string_view::npos) return;
  const option_row* const row = find_option(argument.substr(0, sign));
  if (row == nullptr) refuse_unknown(argument);
  const std::string_view name = argument.substr(0, sign);
  if (!row->takes_value() || name == row->off_name()) refuse_value(name);
  if (sign + 1 != argument.size()) return;
  const std::vector<settings> only = {{{row, "", ""}}};
  resolve(command::count, only);
  refuse_missing(*row);
}

/// "-buckets" would be taken for "-b uckets", and "-o=x" would write a file called "=x".
void check_short(std::string_view argument) {
  const option_row* const row = find_option(argument.substr(0, 2));
  if (row == nullptr || !row->takes_value() || argument.size() < 3) return;
  const std::string name(argument.substr(0, 2));
  const std::string value(argument.substr(argument[2] == '=' ? 3 : 2));
  if (argument[2] == '=') {
    throw usage_error(on_one_line(argument) + ": a short option takes its value without '='; write " + name + " " +
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

/// Faults that CLI11 would take for something else. Everything up to "--" is looked at.
void check_spelling(const words& arguments) {
  for (const std::string& each : arguments) {
    if (each == "--") return;
    if (each.starts_with("--")) {
      check_assignment(each);
    } else if (each.starts_with('-')) {
      check_short(each);
    }
  }
}

/// "--output --stats": whoever means a file of that name writes --output=--stats.
void check_no_option_as_value(const words& arguments, const setting& one) {
  if (find_option(one.value) == nullptr || one.row->kind == value_kind::inquiry) return;
  const std::string name(one.row->long_name());
  if (std::find(arguments.begin(), arguments.end(), name + "=" + one.value) != arguments.end()) return;
  throw usage_error(name + ": the value is missing, " + one.value + " is an option; write " + name + " " +
                    std::string(one.row->value) + ", or " + name + "=" + one.value + " if that is meant");
}

void check_taken(command what, const setting& one) {
  if (one.row->taken_by(what)) return;
  std::string takers;
  for (const command_row& each : command_table()) {
    if (one.row->taken_by(each.what)) takers += (takers.empty() ? "" : " and ") + each.full_name();
  }
  throw usage_error(std::string(one.row->long_name()) + ": no option of " + row_of(what).full_name() + ", but of " +
                    takers + "; see gpuhist --help " + std::string(row_of(what).name));
}

/// The help that is asked for, with its topic. Whatever is behind it that could be one is the topic.
std::optional<setting> help_in(command what, const words& arguments) {
  const option_row* const help = find_option("--help");
  constexpr std::string_view with_value = "--help=";
  for (std::size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
    if (arguments[i].starts_with(with_value)) return setting{help, arguments[i].substr(with_value.size()), ""};
    if (arguments[i] != help->long_name() && arguments[i] != help->short_name()) continue;
    if (i + 1 < arguments.size() && arguments[i + 1] != "--") return setting{help, arguments[i + 1], ""};
    return setting{help, std::string(row_of(what).name), ""};
  }
  return std::nullopt;
}

/// CLI11 only splits: FILEs are what it leaves over, because as a positional of many values it would take a file called
/// "[a,b]" or "{}" apart.
class splitter {
 public:
  splitter() {
    app_.set_help_flag();
    app_.allow_extras();
    for (const option_row& row : option_table()) add(row);
  }

  command_line split(command what, const words& arguments) {
    parse(arguments);
    command_line result{.what = what, .typed = {}, .inputs = inputs()};
    std::map<const CLI::Option*, std::size_t> seen;
    for (const CLI::Option* const each : app_.parse_order()) {
      setting one = meanings_.at(each);
      if (!one.taken_back) one.value = each->results().at(seen[each]++);
      // "-qh": the topics of help that stands alone have been looked for before
      if (one.row->key() == "help") one.value = row_of(what).name;
      check_no_option_as_value(arguments, one);
      check_taken(what, one);
      result.typed.push_back(std::move(one));
    }
    return result;
  }

 private:
  void add(const option_row& row) {
    std::string names(row.names);
    if (row.is_flag()) names += ",!" + row.off_name();  // "!": counts as "false"
    const bool alone = !row.takes_value() || row.key() == "help";
    keep(alone                     ? app_.add_flag(names)->disable_flag_override()
         : row.value_is_optional() ? app_.add_flag(names)  // alone it is "true"
                                   : app_.add_option(names),
         {.row = &row, .value = {}, .origin = {}});
    if (!row.is_setting() || row.is_flag()) return;
    keep(app_.add_flag(row.off_name())->disable_flag_override(),
         {.row = &row, .value = {}, .origin = {}, .taken_back = true});
  }

  void keep(CLI::Option* added, setting meaning) {
    added->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    meanings_.emplace(added, std::move(meaning));
  }

  void parse(words arguments) {
    std::reverse(arguments.begin(), arguments.end());  // CLI11 wants it so
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

  /// What was left over; behind the mark everything is an input.
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
  const command what = named == nullptr ? command::count : named->what;
  const words arguments(typed.begin() + (named == nullptr ? 0 : 1), typed.end());
  if (auto help = help_in(what, arguments)) return {.what = what, .typed = {*std::move(help)}, .inputs = {}};
  check_spelling(arguments);
  return splitter{}.split(what, arguments);
}

}  // namespace gpuhist::config
