#include "config/command_table.hpp"
#include "config/help.hpp"
#include "config/option_table.hpp"

#include <string_view>

namespace gpuhist::config {
namespace {

std::string fish_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

/// The condition that offers an option only for the commands that take it.
std::string condition(const option_row& row) {
  std::string names;
  bool all = true;
  for (const command_row& each : command_table()) {
    if (!row.taken_by(each.kind)) {
      all = false;
      continue;
    }
    names += " " + std::string(each.name.empty() ? "count" : each.name);
  }
  return all ? "" : " -n '__gpuhist_command" + names + "'";
}

std::string values(const option_row& row) {
  if (row.key() == "help") {
    std::string topics;
    for (const std::string_view each : help_topics()) topics += (topics.empty() ? "" : " ") + std::string(each);
    return " -f -a " + fish_quoted(topics);
  }
  if (!row.takes_value()) return "";
  if (row.value_is_optional()) return " -f -a " + fish_quoted(row.choices);
  if (row.kind == value_kind::file) return " -r -F";
  if (row.kind == value_kind::list && !row.choices.empty())
    return " -x -a " + fish_quoted("(__fish_append , " + std::string(row.choices) + ")");
  return " -x" + (row.choices.empty() ? "" : " -a " + fish_quoted(row.choices));
}

std::string lines_of(const option_row& row) {
  const std::string begin = "complete -c gpuhist" + condition(row);
  std::string text = begin + " -l " + std::string(row.key());
  if (!row.short_name().empty()) text += " -s " + std::string(row.short_name().substr(1));
  text += values(row) + " -d " + fish_quoted(row.help) + "\n";
  if (!row.is_setting()) return text;
  return text + begin + " -l no-" + std::string(row.key()) + " -d " +
         fish_quoted((row.is_flag() ? "turns off " : "unsets ") + std::string(row.long_name())) + "\n";
}

constexpr std::string_view helpers =
    R"(# Succeeds if the command on the command line (count if none) is one of the arguments.
function __gpuhist_command
    set -l words (commandline -opc)
    set -l command count
    if set -q words[2]; and contains -- $words[2] report devices repack filter batch merge
        set command $words[2]
    end
    contains -- $command $argv
end

function __gpuhist_first
    test (count (commandline -opc)) -eq 1
end

)";

}  // namespace

std::string fish_completions() {
  std::string text = "# Made by gpuhist --generate fish.\n\n" + std::string(helpers);
  for (const command_row& each : command_table()) {
    if (each.name.empty()) continue;
    text +=
        "complete -c gpuhist -n __gpuhist_first -a " + std::string(each.name) + " -d " + fish_quoted(each.help) + "\n";
  }
  for (const option_row& row : option_table()) text += lines_of(row);
  return text;
}

}  // namespace gpuhist::config
