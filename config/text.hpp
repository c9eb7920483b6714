// Text in messages: safe for a terminal (quote), grouped numbers, valid UTF-8, wrapped lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace gpuhist::config {

/// The text with \xNN for each byte of control characters (C0, DEL, C1), of marks that change the direction of text,
/// and of invalid UTF-8. The message stays on one line, and is harmless on a terminal.
std::string on_one_line(std::string_view typed);

/// on_one_line(typed) in double quotes.
std::string quote(std::string_view typed);

/// The text without blanks at its ends.
std::string_view trimmed(std::string_view text);

// Numbers as text for people.

/// "1,234,567".
std::string grouped(std::uint64_t number);

/// A number with its noun: "1 input", "1,234 inputs".
std::string number_of(std::uint64_t number, std::string_view noun);

/// With this many decimals: "3.142".
std::string fixed(double value, int decimals);

// Validation of UTF-8 (RFC 3629).

/// Length of the UTF-8 sequence at the front of `text`, 1 to 4; 0 if there is none.
std::size_t utf8_sequence(std::string_view text);

bool is_utf8(std::string_view text);

// Breaks text into lines of at most 80 columns.

/// The text in lines of at most 80 columns, each after `indent` blanks, with a final newline. Lines break at blanks. A
/// newline in the text ends a line; an empty line is kept. A longer word has a line of its own.
std::string wrapped(std::string_view text, std::size_t indent);

}  // namespace gpuhist::config
