#include "config/help.hpp"

#include "config/command_table.hpp"
#include "config/option_table.hpp"
#include "config/text.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

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

namespace {

constexpr std::array<std::string_view, 2> examples = {
    "cat access.log | gpuhist --buckets 'vowels=aeiouAEIOU;digits=0-9'",
    "producer | gpuhist --pass-through -o counts.txt | consumer",
};

constexpr std::array all = {
    section{"Sizes and durations",
            "Sizes: 65536, 64K (= 64KiB), 16MiB, 1GB (decimal). Durations: 500ms, 10s, 5m, 1h, up to 100 years. An "
            "interval is a duration or a size; the unit decides: 5m is five minutes, 5M is 5 MiB."},
    section{
        "Configuration",
        "An option may be given in a configuration file, in the environment and on the command line. The environment "
        "replaces the value of the file, and the command line replaces both, with all values of an option that may be "
        "repeated. A --no- form unsets a value from the file or the environment: --no-stats turns a flag off; "
        "--no-output, --no-threads and so on restore the default. --no-config reads no file.\n\n"
        "A file is read only if --config or GPUHIST_CONFIG names one. It is TOML; its keys are the long names without "
        "their dashes. A flag is true or false, a number an integer, a size an integer or a string, buckets a string "
        "or an array of strings. An unknown key is an error, even if a higher level sets that option.\n\n"
        "In the environment, the option --chunk-size is GPUHIST_CHUNK_SIZE, and so on. A flag is 1, true, yes or on, "
        "or 0, false, no or off. An empty variable is ignored; a GPUHIST_ variable that names no option is an error."},
    section{
        "Other variables of the environment",
        "NO_COLOR: if not empty, no colours are used, even on a terminal. TERM: if it is dumb, no colours are used; if "
        "it is dumb or unset, no progress line. LC_ALL, LC_CTYPE, LANG: bars are block characters if the locale is "
        "UTF-8, and ASCII otherwise. TMPDIR: the directory of the temporary file that stores results of inputs if "
        "there are very many, and long lines of 'gpuhist filter' (default: /tmp)."},
    section{"Exit status",
            "0: everything was counted.\n"
            "1: an input (of report: a result) failed or is incomplete, and the rest is reported; the result could not "
            "be written; or memory was insufficient.\n"
            "2: wrong usage or configuration, or a forced engine or kernel is not available; nothing is written.\n"
            "3: a condition of --fail-if holds, and nothing else failed."},
    section{
        "Signals",
        "After SIGINT, SIGTERM or SIGHUP, the program writes its report and then ends by that signal, so that a shell "
        "sees 128+n. Further signals within a second are ignored; a later one ends the program at once, without a "
        "report. If the reader of the output closes it, SIGPIPE ends the program; with --pass-through, after the "
        "report.\n\n"
        "SIGUSR1 does not end the program. It prints a status line on standard error, as in kill -USR1 $(pidof "
        "gpuhist), and writes a snapshot if the output is live (--snapshot-every, --window, or jsonl with "
        "--pass-through)."},
};

}  // namespace

std::string_view summary() { return "gpuhist counts byte values."; }

std::span<const std::string_view> short_examples() { return examples; }

std::span<const section> sections() { return all; }

namespace {

// Texts of tables are ASCII without control characters.
std::string as_json(std::string_view text) {
  std::string made = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') made += '\\';
    made += c;
  }
  return made + '"';
}

std::string as_json(const std::vector<std::string_view>& texts) {
  std::string made;
  for (const std::string_view each : texts) made += (made.empty() ? "" : ",") + as_json(each);
  return "[" + made + "]";
}

std::string_view name_of(value_kind kind) {
  constexpr std::array<std::string_view, 10> names = {"flag",   "choice",  "list", "text",     "file",
                                                      "number", "numbers", "size", "interval", "inquiry"};
  return names.at(static_cast<std::size_t>(kind));
}

}  // namespace

std::string option_list() {
  std::string made;
  for (const option_row& row : option_table()) {
    if (!row.is_setting()) continue;
    std::vector<std::string_view> takers;
    for (const command_row& each : command_table()) {
      if (row.taken_by(each.kind)) takers.push_back(each.name.empty() ? "count" : each.name);
    }
    made += R"({"key":)" + as_json(row.key()) + R"(,"kind":)" + as_json(name_of(row.kind)) + R"(,"value":)" +
            as_json(row.value) + R"(,"choices":)" + as_json(row.choice_names()) + R"(,"commands":)" + as_json(takers) +
            R"(,"run":)" + (row.is_of_run() ? "true" : "false") + R"(,"counter":)" +
            (row.is_of_counter() ? "true" : "false") + R"(,"help":)" + as_json(row.help) + R"(,"detail":)" +
            as_json(row.detail) + "}\n";
  }
  return made;
}

}  // namespace gpuhist::config
