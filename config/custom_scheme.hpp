// Schemes of the user's own, as typed: `[NAME:]bucket=characters;bucket=characters...`.
#pragma once

#include "config/scheme.hpp"

#include <string_view>

namespace gpuhist::config {

/// Whether this is a definition; if not it can only be the name of a scheme.
bool is_custom_scheme(std::string_view typed);

/// Characters are bytes: single ones, ranges (a-z), and the escapes \n \t \r \0 \\ \- \; \= \: \, \xNN. A '-' that is
/// first or last stands for itself. Bytes in no bucket are in a last one, `other`. The scheme has no name where none
/// was typed. Throws usage_error that says where the definition is wrong and what would be right; it names no option.
scheme parse_custom_scheme(std::string_view typed);

}  // namespace gpuhist::config
