// What is printed about options and commands: the texts of --help (the short help, a topic, a command, an option, or
// everything), the manual page, and completions for shells.
#pragma once

#include "config/presets.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::config {

/// `topic` is an option (with or without its dashes), a command, one of help_topic_table, a preset, "all", or empty for
/// the short help of 42 lines. "measures" is the topic, "--measures" the option. Lines of prose have at most 80
/// columns. Throws usage_error for an unknown topic.
std::string help_about(std::string_view topic);

/// All topics, each once and without dashes: "all", the commands, the topics of help_topic_table, the presets, the
/// options.
std::vector<std::string_view> help_topics();

// The topics of --help that are neither options nor commands: a screen of text each.

struct help_topic {
  std::string_view name;  ///< "conditions"
  std::string (*text)();  ///< at most 40 lines of 80 columns
};

std::span<const help_topic> help_topic_table();

/// By name, or null.
const help_topic* find_help_topic(std::string_view name);

/// The help on a preset: its buckets and rules.
std::string about(const preset& row);

// The manual page, generated from the tables of the help.

/// gpuhist(1), in the man macros, for man-db and mandoc.
std::string manual_page(std::string_view version);

/// The table of options for programs: a line of JSON for each, in the order of the help (scripts/options.py).
std::string option_list();

// Texts of the long help and the manual page that belong to no single option.

struct section {
  std::string_view title;
  std::string_view text;  ///< paragraphs, separated by an empty line; within a paragraph a newline ends a line
};

/// One sentence about the program: the first of README.md.
std::string_view summary();

/// Whole commands, for the short help and the manual page.
std::span<const std::string_view> short_examples();

std::span<const section> sections();

// Completions for shells, generated from the tables of the help. Each function returns a whole script.

/// For bash 4 and later, without the bash-completion package.
std::string bash_completions();

/// The file _gpuhist for a directory of zsh's fpath.
std::string zsh_completions();

std::string fish_completions();

}  // namespace gpuhist::config
