// Breaks text into lines of at most 80 columns.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gpuhist::config {

/// The text in lines of at most 80 columns, each after `indent` blanks, with a final newline. Lines break at blanks. A
/// newline in the text ends a line; an empty line is kept. A longer word has a line of its own.
std::string wrapped(std::string_view text, std::size_t indent);

}  // namespace gpuhist::config
