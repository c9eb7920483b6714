// Lengths of addresses and identifiers at the beginning of a text, which a word does not continue. 0: there is none.
// Internal.
#pragma once

#include <cstddef>
#include <string_view>

namespace gpuhist::report::lines {

/// 8-4-4-4-12 hexadecimal digits.
std::size_t uuid_length(std::string_view text);

/// Six groups of two hexadecimal digits with colons.
std::size_t mac_length(std::string_view text);

/// RFC 4291, also with IPv4 at its end; has a decimal digit.
std::size_t ipv6_length(std::string_view text);

/// Four numbers up to 255 with points.
std::size_t ipv4_length(std::string_view text);

}  // namespace gpuhist::report::lines
