// Text functions of reports: UTF-8, width in columns, base64, and numbers for people.
#pragma once

#include "config/text.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gpuhist::report {

using config::fixed;
using config::grouped;
using config::is_utf8;
using config::number_of;
using config::utf8_sequence;

/// Columns on a terminal: two for a wide East Asian character, none for a combining one, by wcwidth() if the locale of
/// the process is UTF-8. Otherwise, and for code points that wcwidth() does not know, one. Precondition: UTF-8, no
/// escape sequences.
std::size_t columns(std::string_view text);

/// Cuts a text to `width` columns, at least 3: "..." replaces its beginning, because paths differ at their ends. A
/// combining mark is not separated from its letter. Precondition: UTF-8.
std::string cut_to(std::string_view text, std::size_t width);

/// As cut_to(), but the beginning remains.
std::string cut_end(std::string text, std::size_t width);

/// Appends all digits of a number.
void append_number(std::string& to, std::uint64_t number);

/// The shortest text that is parsed to the same number.
std::string shortest(double value);

/// Six digits: "7.87532", "1.5e-09". Whole numbers have all digits: "-12,345".
std::string measure_text(double value);

/// RFC 4648, with padding.
std::string base64(std::string_view raw);

/// Decodes base64; nothing if the text is not valid base64.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace gpuhist::report
