#include "config/command_table.hpp"
#include "config/help.hpp"
#include "config/option_table.hpp"

#include <string_view>

namespace gpuhist::config {
namespace {

/// Escapes text within single quotes in a specification of _arguments.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
      continue;
    }
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

/// ":MESSAGE:ACTION" for an option with a value.
std::string value_of(const option_row& row) {
  if (row.key() == "help") {
    std::string topics;
    for (const std::string_view each : help_topics()) topics += (topics.empty() ? "" : " ") + std::string(each);
    return "::topic:(" + topics + ")";
  }
  if (!row.takes_value()) return "";
  const std::string message =
      row.value_is_optional() ? "::" + std::string(row.key()) + ":" : ":" + escaped(row.value) + ":";
  if (row.kind == value_kind::file) return message + "_files";
  if (row.kind == value_kind::list && !row.choices.empty())
    return message + "_sequence compadd - " + std::string(row.choices);
  return message + (row.choices.empty() ? " " : "(" + std::string(row.choices) + ")");
}

/// One spelling: "'*--format=[help]:FORMAT:(table json)'". The value of a long name is after '=' or in the next word;
/// that of a short name follows directly or in the next word.
std::string specification(std::string_view name, const option_row& row, std::string_view help) {
  std::string_view joint;
  if (row.takes_value() && row.key() != "help") joint = name.starts_with("--") ? "=" : "+";
  if (row.value_is_optional()) joint = "=-";
  return "    '*" + std::string(name) + std::string(joint) + "[" + escaped(help) + "]" + value_of(row) + "'\n";
}

std::string specification_of_off(const option_row& row) {
  return "    '*" + row.off_name() + "[" + (row.is_flag() ? "turns off " : "unsets ") + std::string(row.long_name()) +
         "]'\n";
}

std::string specifications(command taker) {
  std::string text;
  for (const option_row& row : option_table()) {
    if (!row.taken_by(taker)) continue;
    if (!row.short_name().empty()) text += specification(row.short_name(), row, row.help);
    text += specification(row.long_name(), row, row.help);
    if (row.is_setting()) text += specification_of_off(row);
  }
  return text;
}

std::string described_commands() {
  std::string text;
  for (const command_row& each : command_table()) {
    if (!each.name.empty()) text += "    '" + std::string(each.name) + ":" + escaped(each.help) + "'\n";
  }
  return text;
}

constexpr std::string_view ending = R"(
_gpuhist_first() {
  (( CURRENT == 2 )) && _describe command commands
  _files
}

case ${words[2]} in
  report) _arguments -s -S $for_report '1:command:(report)' '*:result:_files' ;;
  devices) _arguments -s -S $for_devices '1:command:(devices)' ;;
  repack) _arguments -s -S $for_repack '1:command:(repack)' '*:file:_files' ;;
  *) _arguments -s -S $for_count '*:file:_gpuhist_first' ;;
esac
)";

}  // namespace

std::string zsh_completions() {
  std::string text =
      "#compdef gpuhist\n# Made by gpuhist --generate zsh.\n\nlocal -a commands for_count for_report for_devices "
      "for_repack\n";
  text += "commands=(\n" + described_commands() + ")\n";
  for (const command_row& each : command_table()) {
    const std::string name(each.name.empty() ? "count" : each.name);
    text += "for_" + name + "=(\n" + specifications(each.kind) + ")\n";
  }
  return text + std::string(ending);
}

}  // namespace gpuhist::config
