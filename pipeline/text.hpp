// Text as reports need it: what is UTF-8, how wide it is, what is safe to print, and numbers for people.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace gpuhist::pipeline {

/// Length of the UTF-8 sequence (RFC 3629) at the front of `text`, 1 to 4; 0 where there is none.
std::size_t utf8_sequence(std::string_view text);

bool is_utf8(std::string_view text);

/// Columns on a terminal: two for a wide character of East Asia, none for a combining one, by the table of the C
/// library (wcwidth) where the locale of the process is UTF-8; else, and for code points it does not know, one. No
/// escape sequences. Precondition: UTF-8.
std::size_t columns(std::string_view text);

/// At most `width` columns (3 at least): what is longer loses its beginning, because paths differ at their ends, and
/// gets "..." instead. No mark is left without the letter it belongs to. Precondition: UTF-8.
std::string cut_to(std::string_view text, std::size_t width);

/// RFC 4648, with padding.
std::string base64(std::string_view raw);

/// "1,234,567".
std::string grouped(std::uint64_t number);

}  // namespace gpuhist::pipeline
