// Lengths of time stamps at the beginning of a text, in the forms that logs use. Only the form is checked: 99:99:99 is
// a time. 0: there is none. Internal.
#pragma once

#include <cstddef>
#include <string_view>

namespace gpuhist::report::lines {

/// Whether a text begins with a pattern, in which '9' is any digit and 'A' any letter of ASCII.
bool begins_with_pattern(std::string_view text, std::string_view pattern);

/// Letters and digits of ASCII, and all bytes from 0x80 on.
bool is_word_byte(char byte);

/// H:MM:SS or HH:MM:SS, with any fraction after a point, or one of at least 3 digits after a comma.
std::size_t clock_time_length(std::string_view text);

/// 2025-10-10, also with '/'; then, after 'T' or a blank, HH:MM or HH:MM:SS with fraction; then a zone: Z, +02, +0200,
/// +02:00, UTC or GMT.
std::size_t iso_time_length(std::string_view text);

/// 10/Oct/2025:13:55:36 -0700, the zone is optional.
std::size_t clf_time_length(std::string_view text);

/// Not a time: <PRI> of syslog, one to three digits in angle brackets, which precedes the time.
std::size_t syslog_priority_length(std::string_view text);

/// Oct 10 13:55:36, with fraction; also Sat Oct 10 13:55:36 2025, where the year is optional.
std::size_t syslog_time_length(std::string_view text);

}  // namespace gpuhist::report::lines
