// Text as reports need it: what is UTF-8, how wide it is, what is safe to print, and numbers for people.
#pragma once

#include "config/number_text.hpp"
#include "config/utf8.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gpuhist::pipeline {

using config::fixed;
using config::grouped;
using config::is_utf8;
using config::utf8_sequence;

/// Columns on a terminal: two for a wide character of East Asia, none for a combining one, by the table of the C
/// library (wcwidth) where the locale of the process is UTF-8; else, and for code points it does not know, one. No
/// escape sequences. Precondition: UTF-8.
std::size_t columns(std::string_view text);

/// At most `width` columns (3 at least): what is longer loses its beginning, because paths differ at their ends, and
/// gets "..." instead. No mark is left without the letter it belongs to. Precondition: UTF-8.
std::string cut_to(std::string_view text, std::size_t width);

/// RFC 4648, with padding.
std::string base64(std::string_view raw);

/// What was encoded so; nothing where it is not the encoding of anything.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace gpuhist::pipeline
