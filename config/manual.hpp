// The manual page, generated from the tables of the help.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace gpuhist::config {

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

}  // namespace gpuhist::config
