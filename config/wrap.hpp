// Prose in lines of a width that can be read.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gpuhist::config {

/// The text in lines of at most 80 columns, `indent` blanks at the front of each, and with a final newline. Breaks at
/// blanks; a newline in the text ends a line, an empty line stays. A word that is longer stands alone.
std::string wrapped(std::string_view text, std::size_t indent);

}  // namespace gpuhist::config
