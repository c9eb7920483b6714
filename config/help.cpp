#include "config/help.hpp"

#include "config/command_table.hpp"
#include "config/option_table.hpp"
#include "config/suggest.hpp"
#include "config/text.hpp"
#include "config/usage_error.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace gpuhist::config {
namespace {

constexpr std::size_t help_column = 29;
constexpr std::string_view counting = "count";  // the topic about gpuhist without a command

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(text.size() + 1, width), ' ');
  return text;
}

/// "  -o, --output FILE", or for a flag "      --stats".
std::string names_and_value(const option_row& row) {
  const std::string before = row.short_name().empty() ? "      " : "  " + std::string(row.short_name()) + ", ";
  return before + std::string(row.long_name()) + (!row.takes_value() || row.value_is_optional() ? "" : " ") +
         std::string(row.value);
}

std::string option_line(const option_row& row, const command_row& taker) {
  const std::string_view help = row.key() == taker.note.key ? taker.note.help : row.help;
  return padded(names_and_value(row), help_column) + std::string(help) + "\n";
}

/// A line for each wanted option of the command, below the headings of their groups.
template <class Wanted>
std::string option_lines(const command_row& taker, Wanted wanted) {
  std::string text;
  std::string_view group;
  for (const option_row& row : option_table()) {
    if (!row.taken_by(taker.kind) || !wanted(row)) continue;
    if (row.group != group) text += std::string(row.group) + ":\n";
    group = row.group;
    text += option_line(row, taker);
  }
  return text;
}

std::string usage_lines() {
  std::string text;
  for (const command_row& each : command_table()) {
    const std::string line = (text.empty() ? "usage: " : "       ") + each.full_name() + " " + std::string(each.usage);
    text += padded(line, 45) + std::string(each.help) + "\n";
  }
  return text;
}

std::string topic_names() {
  std::string text;
  for (const help_topic& each : help_topic_table()) text += (text.empty() ? "" : ", ") + std::string(each.name);
  return text;
}

std::string short_help() {
  std::string text = std::string(summary()) + "\n\n" + usage_lines() + "\n";
  text += option_lines(row_of(command::count), [](const option_row& row) { return !row.rare; });
  text += "\nExamples:\n";
  for (const std::string_view each : short_examples()) text += "  " + std::string(each) + "\n";
  return text +
         "\nExit status: 0 counted, 1 an input failed, 2 wrong usage, 3 by --fail-if.\n"
         "--no-OPTION cancels OPTION of a configuration file or of the environment.\n"
         "List of options: gpuhist --help count. One option: gpuhist --help OPTION.\n"
         "Topics: " +
         topic_names() + "\n";
}

std::string about(const command_row& row) {
  return "usage: " + row.full_name() + " " + std::string(row.usage) + "\n\n" + wrapped(row.detail, 0) + "\n" +
         option_lines(row, [](const option_row&) { return true; }) + "\nExample:\n  " + std::string(row.example) + "\n";
}

std::string about(const option_row& row) {
  std::string text = names_and_value(row).substr(row.short_name().empty() ? 6 : 2) + "\n";
  text += wrapped(row.detail, 4);
  const bool is_only_typed = find_option(row.long_name()) != &row;  // files and variables set the first of that name
  if (row.is_setting() && !is_only_typed) {
    const std::string file = row.key() == "config" ? "" : "; configuration file: " + std::string(row.key());
    text += wrapped("Environment: " + row.variable() + file + ". " + row.off_name() + " cancels it.", 4);
  }
  return text + "    Example: " + std::string(row.example) + "\n";
}

std::string everything() {
  std::string text = std::string(summary()) + "\n\n" + usage_lines();
  for (const command_row& each : command_table()) {
    text += "\n" + each.full_name() + " " + std::string(each.usage) + "\n" + wrapped(each.detail, 4);
  }
  std::string_view group;
  for (const option_row& row : option_table()) {
    text += row.group == group ? "\n" : "\n" + std::string(row.group) + ":\n\n";
    group = row.group;
    text += about(row);
  }
  for (const section& each : sections()) text += "\n" + std::string(each.title) + ":\n\n" + wrapped(each.text, 4);
  return text;
}

[[noreturn]] void refuse(std::string_view topic) {
  const auto meant = likely_name(topic, help_topics());
  std::string commands;
  for (const command_row& each : command_table()) {
    commands += std::string(each.name.empty() ? counting : each.name) + ", ";
  }
  throw usage_error("--help: there is no topic " + quote(topic) + "; " +
                    (meant ? "did you mean " + std::string(*meant) + "? " : "") + "Topics are all, " + commands +
                    topic_names() + " and the options (files are not read with --help)");
}

}  // namespace

std::vector<std::string_view> help_topics() {
  std::vector<std::string_view> topics = {"all", counting};
  for (const command_row& each : command_table()) {
    if (!each.name.empty()) topics.push_back(each.name);
  }
  for (const help_topic& each : help_topic_table()) topics.push_back(each.name);
  for (const preset& each : preset_table()) topics.push_back(each.name);
  for (const option_row& row : option_table()) {
    const bool listed = find_command(row.key()) != nullptr || find_help_topic(row.key()) != nullptr ||
                        find_option(row.long_name()) != &row;
    if (!listed) topics.push_back(row.key());
  }
  return topics;
}

std::string help_about(std::string_view topic) {
  if (topic.empty()) return short_help();
  const std::size_t dashes = std::min(topic.find_first_not_of('-'), topic.size());
  const std::string_view name = topic.substr(dashes, topic.find('=') - dashes);
  if (name == "all") return everything();
  if (const help_topic* const screen = find_help_topic(name); screen != nullptr && dashes == 0) return screen->text();
  if (const preset* const shown = find_preset(name); shown != nullptr && dashes == 0) return about(*shown);
  std::string text;
  const command_row* const named = dashes != 0        ? nullptr
                                   : name == counting ? &row_of(command::count)
                                                      : find_command(name);
  if (named != nullptr) text = about(*named);
  // "devices" is both a command and an option
  for (const std::string& spelled : {"--" + std::string(name), "-" + std::string(name)}) {
    const option_row* const row = find_option(spelled);
    if (row == nullptr || (spelled.size() == 2 && name.empty())) continue;
    for (const option_row& each : option_table()) {  // commands may take different options of one name
      if (each.long_name() == row->long_name()) text += (text.empty() ? "" : "\n") + about(each);
    }
    break;
  }
  if (text.empty()) refuse(name.empty() ? topic : name);
  return text;
}

}  // namespace gpuhist::config
