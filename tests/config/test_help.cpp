// Help, manual page and completions: all are generated from one table of options, and contain every option.
#include "config/command_table.hpp"
#include "config/help.hpp"
#include "config/option_table.hpp"
#include "config/presets.hpp"
#include "config/text.hpp"
#include "tests/support/texts.hpp"
#include "tests/support/usage_errors.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

using namespace gpuhist::config;
using namespace gpuhist::test;

namespace {

/// Every spelling: "-o", "--output"; "--stats", "--no-stats".
std::vector<std::string> spellings(const option_row& row) {
  std::vector<std::string> all = {std::string(row.long_name())};
  if (!row.short_name().empty()) all.emplace_back(row.short_name());
  if (row.is_setting()) all.push_back(row.off_name());
  return all;
}

std::string error_of(std::string_view topic) {
  return usage_error_of([&] { help_about(topic); });
}

}  // namespace

TEST_CASE("the short help is a screen of 42 lines and 80 columns that ends with examples") {
  const std::string text = help_about("");
  const auto lines = lines_of(text);
  CHECK(lines.size() <= 42);
  for (const std::string& line : lines) {
    CAPTURE(line);
    CHECK(line.size() <= 80);
  }
  for (const std::string_view each :
       {"usage: gpuhist [OPTIONS] [FILE...]", "gpuhist report", "gpuhist devices", "gpuhist filter",
        "Inputs:", "Counting:", "Output:", "Engines:", "Tuning:", "Examples:", "  -b, --buckets SCHEMES",
        "      --stats ", "--no-OPTION", "--help OPTION", "--help count", "Exit status: 0 ",
        "\nconditions, measures, windows, units, texts, formats, damage, presets, events\n"}) {
    CAPTURE(each);
    CHECK(holds(text, each));
  }
  for (const option_row& row : option_table()) {
    CAPTURE(row.names);
    CHECK(holds(text, std::string(row.long_name()) + " ") == !row.rare);
  }
  CHECK(text.back() == '\n');
}

TEST_CASE("the long help has every option with its detail, its variable and an example") {
  const std::string text = help_about("all");
  for (const option_row& row : option_table()) {
    for (const std::string& each : spellings(row)) {
      CAPTURE(each);
      CHECK(holds(text, each));
    }
    CHECK(holds(text, "Example: " + std::string(row.example)));
    if (row.is_setting()) CHECK(holds(text, row.variable()));
  }
  for (const std::string& line : lines_of(text)) {
    CAPTURE(line);
    CHECK(line.size() <= 80);
  }
}

TEST_CASE("every option is a topic in each of its spellings") {
  for (const option_row& row : option_table()) {
    if (find_command(row.key()) != nullptr) continue;  // devices, changes
    const std::string text = help_about(row.long_name());
    CHECK(holds(text, wrapped(row.detail, 4)));
    if (find_help_topic(row.key()) == nullptr) CHECK(help_about(row.key()) == text);
    for (const std::string& each : spellings(row)) CHECK(help_about(each) == text);
  }
  CHECK(help_about("b") == help_about("--buckets"));
  CHECK(help_about("no-stats") == help_about("--stats"));
}

TEST_CASE("every command is a topic that lists its options") {
  for (const command_row& command : command_table()) {
    const std::string text = help_about(command.name.empty() ? "count" : command.name);
    CHECK(text.starts_with("usage: " + command.full_name() + " " + std::string(command.usage) + "\n"));
    CHECK(holds(text, "Example:\n  " + std::string(command.example)));
    const auto lines = lines_of(text);
    for (const option_row& row : option_table()) {
      CAPTURE(row.names);
      const std::string name = " " + std::string(row.long_name()) + (row.value_is_optional() ? "[" : " ");
      const bool listed = std::any_of(lines.begin(), lines.end(),
                                      [&](const std::string& line) { return line.find(name) == 5 && line[0] == ' '; });
      CHECK(listed == find_option(row.long_name(), command.kind)->taken_by(command.kind));
    }
  }
}

TEST_CASE("the help of a command describes options by their meaning for this command") {
  CHECK(holds(help_about("devices"), "      --format FORMAT        table (for people) or json\n"));
  CHECK(holds(help_about("report"), "      --format FORMAT        table (for people), json, jsonl, csv, prometheus\n"));
  CHECK(holds(help_about("repack"), "  -o, --output FILE          the archive, a regular file; must be given\n"));
  CHECK(holds(help_about("filter"), "  -o, --output FILE          write the text to FILE; fd:N: descriptor N\n"));
  CHECK(holds(help_about("count"), "  -o, --output FILE          write the report to FILE; fd:N: descriptor N\n"));
}

TEST_CASE("the descriptions of the commands begin in one column") {
  const std::string text = help_about("");
  for (const command_row& command : command_table()) {
    const auto lines = lines_of(text);
    CHECK(std::any_of(lines.begin(), lines.end(),
                      [&](const auto& line) { return line.find("  " + std::string(command.help)) == 43; }));
  }
}

TEST_CASE("a name of a command and an option shows the help of both") {
  const std::string both = help_about("devices");
  CHECK(both.starts_with("usage: gpuhist devices"));
  CHECK(holds(both, "--devices LIST"));
  CHECK(help_about("--devices").starts_with("--devices LIST"));
}

TEST_CASE(
    "conditions, measures, windows, units, texts, formats, damage, presets and events are topics of one screen each") {
  std::vector<std::string_view> names;
  for (const help_topic& topic : help_topic_table()) {
    CAPTURE(topic.name);
    names.push_back(topic.name);
    const std::string text = help_about(topic.name);
    const auto lines = lines_of(text);
    CHECK(lines.size() <= 42);
    CHECK(lines.size() > 20);
    for (const std::string& line : lines) {
      CAPTURE(line);
      CHECK(line.size() <= 80);
      CHECK_FALSE(line.ends_with(' '));
    }
    CHECK(holds(text, "\nExamples:\n  gpuhist ") + holds(text, "\nExamples:\n  producer | gpuhist ") == 1);
    CHECK(std::ranges::count(help_topics(), topic.name) == 1);
  }
  CHECK(names == std::vector<std::string_view>{"conditions", "measures", "windows", "units", "texts", "formats",
                                               "damage", "presets", "events"});
  CHECK(help_about("measures") != help_about("--measures"));
}

TEST_CASE("the topics have a line for each choice of their options") {
  const auto lines_have = [](std::string_view topic, std::string_view option) {
    const auto lines = lines_of(help_about(topic));
    std::size_t at = 0;
    for (const std::string_view choice : find_option(option)->choice_names()) {
      if (choice == "all") continue;
      CAPTURE(choice);
      const auto found = std::find_if(lines.begin(), lines.end(), [&](const std::string& line) {
        return line.starts_with("  " + std::string(choice) + " ");
      });
      REQUIRE(found != lines.end());
      CHECK(static_cast<std::size_t>(found - lines.begin()) > at);  // in the order of the choices
      at = static_cast<std::size_t>(found - lines.begin());
    }
  };
  lines_have("measures", "--measures");
  lines_have("formats", "--format");
  lines_have("formats", "--input-format");
  CHECK(holds(help_about("conditions"), "\n   ! -  * /  + -  < <= > >= == !=  &&  ||\n"));
}

TEST_CASE("the topic on damage names the words of messages and the kinds of errors") {
  const std::string text = help_about("damage");
  for (const std::string_view each :
       {"INCOMPLETE",          "unverified",     "offset",      "--skip-damage",    "--count-unverified",
        "--pass-through=text", "lost",           "error_kind",  "damaged",          "refused",
        "unreadable",          "stopped",        "not_read",    "not_counted",      "out_of_memory",
        "compressed_begin",    "compressed_end", "text_offset", "unverified_bytes", "Exit status 0"}) {
    CAPTURE(each);
    CHECK(holds(text, each));
  }
}

TEST_CASE("the topic on presets lists them, and the help on a preset has its source, buckets and rules") {
  const std::string listed = help_about("presets");
  CHECK_FALSE(preset_table().empty());
  for (const preset& each : preset_table()) {
    CAPTURE(each.name);
    CHECK(holds(listed, "\n  " + std::string(each.name) + ", "));
    CHECK(holds(listed, each.summary));
    CHECK(holds(listed, each.covers));
    CHECK(std::ranges::count(help_topics(), each.name) == 1);
    std::string text = help_about(each.name);
    for (std::size_t at = text.find("\n    "); at != std::string::npos; at = text.find("\n    ", at))
      text.replace(at, 5, " ");
    CHECK(holds(text, each.source));
    for (const std::string& line : lines_of(help_about(each.name))) {
      CHECK((line.size() <= 80 || holds(line, ";")));  // buckets are not divided
    }
    for (const preset_rule& rule : each.rules) {
      CHECK(holds(text, std::string(each.name) + "." + std::string(rule.name) + ": " + std::string(rule.condition)));
    }
    for (const std::string_view definition : each.schemes) CHECK(holds(text, definition));
  }
}

TEST_CASE("an unknown topic is an error that suggests the nearest topic and lists all of them") {
  const std::string topics =
      "Topics are all, count, changes, diff, sample, report, devices, repack, filter, batch, merge, conditions, "
      "measures, "
      "windows, "
      "units, "
      "texts, formats, damage, presets, events and the options (files are not read with --help)";
  CHECK(error_of("bucket") == "--help: there is no topic \"bucket\"; did you mean buckets? " + topics);
  CHECK(error_of("--thread") == "--help: there is no topic \"thread\"; did you mean threads? " + topics);
  CHECK(error_of("reprot") == "--help: there is no topic \"reprot\"; did you mean report? " + topics);
  CHECK(error_of("condition") == "--help: there is no topic \"condition\"; did you mean conditions? " + topics);
  CHECK(error_of("-").starts_with("--help: there is no topic \"-\""));
  CHECK(error_of("access.log") == "--help: there is no topic \"access.log\"; " + topics);
}

TEST_CASE("every option is in the manual page, in all its spellings") {
  std::string text = manual_page("1.2.3");
  for (std::size_t at = text.find("\\-"); at != std::string::npos; at = text.find("\\-", at)) text.erase(at, 1);
  for (const option_row& row : option_table()) {
    for (const std::string& each : spellings(row)) {
      CAPTURE(each);
      CHECK(holds(text, "\\fB" + each + "\\fR"));
    }
  }
  CHECK(holds(text, "gpuhist 1.2.3"));
}

TEST_CASE("no line of text in the manual page is a request") {
  for (const std::string& line : lines_of(manual_page("1"))) {
    CAPTURE(line);
    CHECK_FALSE(line.starts_with("'"));
    if (!line.starts_with('.')) continue;
    const std::vector<std::string> requests = {".\\\"", ".TH", ".SH", ".SS", ".TP", ".PP", ".br", ".RS", ".RE"};
    CHECK(std::find(requests.begin(), requests.end(), line.substr(0, 3)) != requests.end());
  }
}

TEST_CASE("every option is in the completions of every shell, in all its spellings") {
  const std::string bash = bash_completions();
  const std::string zsh = zsh_completions();
  const std::string fish = fish_completions();
  for (const option_row& row : option_table()) {
    for (const std::string& each : spellings(row)) {
      CAPTURE(each);
      CHECK((holds(bash, each + " ") || holds(bash, each + "'")));
      CHECK((holds(zsh, "'*" + each + "[") || holds(zsh, "'*" + each + "=[") || holds(zsh, "'*" + each + "+[") ||
             holds(zsh, "'*" + each + "=-[")));
      const bool is_long = each.starts_with("--");
      CHECK(holds(fish, (is_long ? " -l " : " -s ") + each.substr(is_long ? 2 : 1) + " "));
    }
    for (const std::string_view choice : row.choice_names()) {
      CAPTURE(choice);
      for (const std::string* script : {&bash, &zsh, &fish}) CHECK(holds(*script, choice));
    }
  }
}

TEST_CASE("every option has a full help, which names all of its choices") {
  for (const option_row& row : option_table()) {
    CAPTURE(row.names);
    CHECK(row.help.size() <= 51);
    CHECK(row.detail.ends_with('.'));
    CHECK(holds(std::string(row.example), "gpuhist"));
    CHECK((row.is_of_run() || row.effect.on_command != nullptr) == row.is_setting());
    CHECK(std::ranges::any_of(command_table(), [&](const command_row& each) { return row.taken_by(each.kind); }));
    for (const std::string_view choice : row.choice_names()) {
      CAPTURE(choice);
      CHECK(holds(std::string(row.detail), choice));
    }
  }
}

TEST_CASE(
    "an option that decides what is counted or reported is one of a run and of a job, so that all surfaces have it") {
  for (const option_row& row : option_table()) {
    CAPTURE(row.names);
    const bool decides = row.rules.decides != gpuhist::config::decision::nothing;
    if (decides && row.taken_by(command::count)) {
      CHECK(row.is_of_run());
      CHECK(row.taken_by(command::batch));
    }
    for (const std::string_view rule : {row.rules.needs, row.rules.excludes}) {
      std::istringstream words{std::string(rule)};
      for (std::string word; words >> word;) {
        const std::string key = word.substr(word.find(':') + 1);
        CHECK(find_option("--" + key.substr(0, key.find('='))) != nullptr);
      }
    }
  }
}

TEST_CASE("wrapped prose loses no word and breaks at blanks") {
  CHECK(wrapped("a b", 2) == "  a b\n");
  CHECK(wrapped("a\nb\n\nc", 0) == "a\nb\n\nc\n");
  CHECK(wrapped("", 4).empty());
  const std::string long_word(100, 'x');
  CHECK(wrapped("a " + long_word + " b", 0) == "a\n" + long_word + "\nb\n");
  CHECK(wrapped(std::string(40, 'a') + " " + std::string(39, 'b'), 0).find('\n') == 80);
  CHECK(wrapped(std::string(40, 'a') + " " + std::string(40, 'b'), 0).find('\n') == 40);
}
