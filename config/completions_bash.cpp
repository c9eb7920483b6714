#include "config/command_table.hpp"
#include "config/help.hpp"
#include "config/option_table.hpp"

#include <string_view>

namespace gpuhist::config {
namespace {

std::string joined(const std::vector<std::string_view>& names) {
  std::string text;
  for (const std::string_view each : names) text += (text.empty() ? "" : " ") + std::string(each);
  return text;
}

std::string subcommands() {
  std::vector<std::string_view> names;
  for (const command_row& each : command_table()) {
    if (!each.name.empty()) names.push_back(each.name);
  }
  return joined(names);
}

/// All spellings of the options that a command takes.
std::string options_of(command taker) {
  std::string text;
  for (const option_row& row : option_table()) {
    if (!row.taken_by(taker)) continue;
    for (const std::string& each : {std::string(row.short_name()), std::string(row.long_name()), row.off_name()}) {
      if (!each.empty()) text += (text.empty() ? "" : " ") + each;
    }
  }
  return text;
}

/// The branch of `case $previous` for an option with a value: it completes the value.
std::string branch(const option_row& row) {
  const std::string names =
      (row.short_name().empty() ? "" : std::string(row.short_name()) + "|") + std::string(row.long_name());
  const std::string words = joined(row.key() == "help" ? help_topics() : row.choice_names());
  const bool is_list = row.kind == value_kind::list && !words.empty();
  std::string action = words.empty() ? ":" : "_gpuhist_words '" + words + "'";
  if (is_list) action = "_gpuhist_list '" + words + "'";
  if (row.kind == value_kind::file) action = "_gpuhist_files";
  if (row.value_is_optional()) return "    " + names + ") if [[ $assigned ]]; then " + action + "; return; fi ;;\n";
  return "    " + names + ") " + action + "; return ;;\n";
}

constexpr std::string_view helpers = R"(_gpuhist_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$current"); }

# Completes the word after the last comma.
_gpuhist_list() {
  local before=
  [[ $current == *,* ]] && before=${current%,*},
  mapfile -t COMPREPLY < <(compgen -P "$before" -W "$1" -- "${current##*,}")
  compopt -o nospace 2>/dev/null
}

_gpuhist_files() {
  mapfile -t COMPREPLY < <(compgen -f -- "$current")
  compopt -o filenames 2>/dev/null
}
)";

constexpr std::string_view beginning = R"(
_gpuhist() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} assigned= i
  # --format=js is three words here
  if [[ $current == '=' ]]; then
    current= assigned=1
  elif [[ $previous == '=' ]]; then
    assigned=1
    previous=${COMP_WORDS[COMP_CWORD-2]}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    if [[ ${COMP_WORDS[i]} == -- ]]; then _gpuhist_files; return; fi
  done
  case $previous in
)";

constexpr std::string_view ending = R"(  esac
  if [[ $current == -* ]]; then
    _gpuhist_words "$options"
    return
  fi
  _gpuhist_files
  if ((COMP_CWORD == 1)); then
    mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -W "$commands" -- "$current")
  fi
}

complete -F _gpuhist gpuhist
)";

}  // namespace

std::string bash_completions() {
  std::string text = "# Made by gpuhist --generate bash.\n\n" + std::string(helpers) + std::string(beginning);
  for (const option_row& row : option_table()) {
    if (row.takes_value()) text += branch(row);
  }
  text += "  esac\n  local commands='" + subcommands() + "' options\n  case ${COMP_WORDS[1]} in\n";
  for (const command_row& each : command_table()) {
    if (!each.name.empty()) text += "    " + std::string(each.name) + ") options='" + options_of(each.kind) + "' ;;\n";
  }
  return text + "    *) options='" + options_of(command::count) + "' ;;\n" + std::string(ending);
}

}  // namespace gpuhist::config
