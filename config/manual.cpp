#include "config/manual.hpp"

#include "config/command_table.hpp"
#include "config/manual_text.hpp"
#include "config/option_table.hpp"
#include "config/wrap.hpp"

#include <algorithm>
#include <cstddef>

namespace gpuhist::config {
namespace {

/// The date of the last revision of the page. It is a constant, so that builds are reproducible.
constexpr std::string_view revised = "2026-11-22";

/// Text within a line: '-' and quotes are shown as typed.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == '\'') {
      out += "\\(aq";
    } else {
      out += c;
    }
  }
  return out;
}

std::string upper_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return out;
}

std::string bold(std::string_view text) { return "\\fB" + escaped(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + escaped(text) + "\\fR"; }

/// Lines of text. None of them is a request of troff.
std::string lines(std::string_view sentence) {
  std::string out;
  bool at_line_start = true;
  for (const char c : wrapped(escaped(sentence), 0)) {
    if (at_line_start && c == '.') out += "\\&";
    out += c;
    at_line_start = c == '\n';
  }
  return out;
}

/// Each sentence begins a line, as is usual in manual pages. An empty line begins a paragraph; a single newline breaks
/// the line.
std::string prose(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t newline = std::min(text.find('\n'), text.size());
    const std::size_t sentence = std::min(text.find(". "), text.size());
    const std::size_t end = std::min(newline, sentence == text.size() ? sentence : sentence + 1);
    out += lines(text.substr(0, end));
    const bool paragraph = text.substr(end).starts_with("\n\n");
    if (paragraph) {
      out += ".PP\n";
    } else if (end == newline && end < text.size()) {
      out += ".br\n";
    }
    text.remove_prefix(std::min(end + (paragraph ? 2U : 1U), text.size()));
  }
  return out;
}

std::string shown_command(std::string_view command) { return ".RS 4\n" + lines(command) + ".RE\n"; }

std::string option_entry(const option_row& row) {
  std::string text = ".TP\n";
  if (!row.short_name().empty()) text += bold(row.short_name()) + ", ";
  text += bold(row.long_name());
  if (row.takes_value()) text += (row.value_is_optional() ? "" : " ") + italic(row.value);
  if (row.is_setting()) text += ", " + bold(row.off_name());
  text += "\n" + prose(row.detail);
  if (row.is_setting()) text += "Environment: " + bold(row.variable()) + ".\n";
  return text + "Example:\n" + bold(row.example) + "\n";
}

std::string synopsis() {
  std::string text = ".SH SYNOPSIS\n";
  for (const command_row& each : command_table()) {
    if (each.kind != command::count) text += ".br\n";
    text += bold(each.full_name()) + " " + italic(each.usage) + "\n";
  }
  return text;
}

std::string commands() {
  std::string text = ".SH COMMANDS\n";
  for (const command_row& each : command_table()) {
    text += ".TP\n" + bold(each.full_name()) + " " + italic(each.usage) + "\n" + prose(each.detail);
  }
  return text;
}

std::string options_by_group() {
  std::string text = ".SH OPTIONS\n";
  std::string_view group;
  for (const option_row& row : option_table()) {
    if (row.group != group) text += ".SS " + std::string(row.group) + "\n";
    group = row.group;
    text += option_entry(row);
  }
  return text;
}

}  // namespace

std::string manual_page(std::string_view version) {
  std::string text = ".\\\" Made by gpuhist --generate man.\n";
  text += ".TH GPUHIST 1 " + std::string(revised) + " \"gpuhist " + std::string(version) + "\" \"User Commands\"\n";
  text += ".SH NAME\ngpuhist \\- count byte values\n" + synopsis();
  text += ".SH DESCRIPTION\n" + prose(summary()) + commands() + options_by_group();
  for (const section& each : sections()) text += ".SH " + upper_case(each.title) + "\n" + prose(each.text);
  text += ".SH EXAMPLES\n";
  for (const std::string_view each : short_examples())
    text += (each == short_examples().front() ? "" : ".PP\n") + shown_command(each);
  return text;
}

}  // namespace gpuhist::config
