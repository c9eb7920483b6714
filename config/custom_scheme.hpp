// Schemes that the user defines: `[NAME:]bucket=characters;bucket=characters...`.
#pragma once

#include "config/scheme.hpp"

#include <string_view>

namespace gpuhist::config {

/// Whether the text is a definition; if not, it is the name of a scheme.
bool is_custom_scheme(std::string_view typed);

/// Characters are bytes: single ones, ranges (a-z), and the escapes \n \t \r \0 \\ \- \; \= \: \, \xNN. A '-' that is
/// first or last is the character. Bytes outside every bucket are in a last one, `other`. The name of the scheme is
/// empty if the definition has none. Throws usage_error with the position of the error and a remedy, without an
/// option's name.
scheme parse_custom_scheme(std::string_view typed);

}  // namespace gpuhist::config
