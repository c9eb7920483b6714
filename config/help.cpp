#include "config/help.hpp"

#include "config/command_table.hpp"
#include "config/manual_text.hpp"
#include "config/option_table.hpp"
#include "config/quote.hpp"
#include "config/suggest.hpp"
#include "config/usage_error.hpp"
#include "config/wrap.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace gpuhist::config {
namespace {

constexpr std::size_t help_column = 29;
constexpr std::string_view counting = "count";  // the topic of what gpuhist does without a command

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

std::string option_line(const option_row& row, const command_row& of) {
  const std::string_view help = row.key() == of.note.key ? of.note.help : row.help;
  return padded(names_and_value(row), help_column) + std::string(help) + "\n";
}

/// A heading and a line an option of the command, for the groups that have any.
template <class Wanted>
std::string option_lines(const command_row& of, Wanted wanted) {
  std::string text;
  std::string_view group;
  for (const option_row& row : option_table()) {
    if (!row.taken_by(of.what) || !wanted(row)) continue;
    if (row.group != group) text += std::string(row.group) + ":\n";
    group = row.group;
    text += option_line(row, of);
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

std::string short_help() {
  std::string text = std::string(summary()) + "\n\n" + usage_lines() + "\n";
  text += option_lines(row_of(command::count), [](const option_row& row) { return !row.rare; });
  text += "\nExamples:\n";
  for (const std::string_view each : short_examples()) text += "  " + std::string(each) + "\n";
  return text +
         "\nExit status: 0 all was counted, 1 an input failed, 2 usage, 3 by --fail-if.\n"
         "--no-NAME takes an option back. All options, also those of windows, measures and\n"
         "lists of files, are in gpuhist --help count; about one: gpuhist --help OPTION\n";
}

std::string about(const command_row& row) {
  return "usage: " + row.full_name() + " " + std::string(row.usage) + "\n\n" + wrapped(row.detail, 0) + "\n" +
         option_lines(row, [](const option_row&) { return true; }) + "\nExample:\n  " + std::string(row.example) + "\n";
}

std::string about(const option_row& row) {
  std::string text = names_and_value(row).substr(row.short_name().empty() ? 6 : 2) + "\n";
  text += wrapped(row.detail, 4);
  if (row.is_flag()) {
    text += wrapped(row.off_name() + " turns off what a lower level turned on.", 4);
  } else if (row.is_setting()) {
    text += wrapped(row.off_name() + " takes back what a lower level says.", 4);
  }
  if (row.is_setting()) {
    const bool in_files = row.key() != "config";
    text += wrapped("Environment: " + row.variable() + (in_files ? "; in a file: " + std::string(row.key()) : ""), 4);
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
  throw usage_error("--help: there is no topic " + quote(topic) + "; " +
                    (meant
                         ? "did you mean " + std::string(*meant) + "?"
                         : "give an option, count, report, devices, repack, or all (files are not read with --help)"));
}

}  // namespace

std::vector<std::string_view> help_topics() {
  std::vector<std::string_view> topics = {"all", counting};
  for (const command_row& each : command_table()) {
    if (!each.name.empty()) topics.push_back(each.name);
  }
  for (const option_row& row : option_table()) {
    if (find_command(row.key()) == nullptr) topics.push_back(row.key());
  }
  return topics;
}

std::string help_about(std::string_view topic) {
  if (topic.empty()) return short_help();
  const std::size_t dashes = std::min(topic.find_first_not_of('-'), topic.size());
  const std::string_view name = topic.substr(dashes, topic.find('=') - dashes);
  if (name == "all") return everything();
  std::string text;
  const command_row* const named = dashes != 0        ? nullptr
                                   : name == counting ? &row_of(command::count)
                                                      : find_command(name);
  if (named != nullptr) text = about(*named);
  // "devices" is a command and an option
  for (const std::string& spelled : {"--" + std::string(name), "-" + std::string(name)}) {
    const option_row* const row = find_option(spelled);
    if (row == nullptr || (spelled.size() == 2 && name.empty())) continue;
    text += (text.empty() ? "" : "\n") + about(*row);
    break;
  }
  if (text.empty()) refuse(name.empty() ? topic : name);
  return text;
}

}  // namespace gpuhist::config
