// What there is to say that belongs to no single option: for the long help and the manual page.
#pragma once

#include <span>
#include <string_view>

namespace gpuhist::config {

struct section {
  std::string_view title;
  std::string_view text;  ///< paragraphs, separated by an empty line; inside of them a newline ends a line
};

/// One sentence: what the program does.
std::string_view summary();

/// Whole commands, the most telling ones, for the short help.
std::span<const std::string_view> short_examples();

std::span<const section> sections();

}  // namespace gpuhist::config
