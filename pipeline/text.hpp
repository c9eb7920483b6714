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

/// Columns on a terminal, taking every code point for one column wide. Precondition: UTF-8.
std::size_t columns(std::string_view text);

/// At most `width` columns (3 at least): what is longer loses its beginning, because paths differ at their ends, and
/// gets "..." instead. Precondition: UTF-8.
std::string cut_to(std::string_view text, std::size_t width);

/// RFC 4648, with padding.
std::string base64(std::string_view raw);

/// "1,234,567".
std::string grouped(std::uint64_t number);

}  // namespace gpuhist::pipeline
