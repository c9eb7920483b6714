// Characters of a text in UTF-8: their lengths, and what the rules for corpora ask of them. Categories are those of
// Unicode, from utf8proc.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace gpuhist::report::texts {

/// Properties of a character, a bit each.
namespace trait {
inline constexpr std::uint8_t space = 1;        ///< White_Space, and 1C to 1F: as Python's str.split() divides
inline constexpr std::uint8_t letter = 2;       ///< category L
inline constexpr std::uint8_t in_token = 4;     ///< category L, M or N
inline constexpr std::uint8_t punctuation = 8;  ///< of datatrove's set, which has control characters, too
inline constexpr std::uint8_t end_mark = 16;    ///< ends a sentence, in any script
inline constexpr std::uint8_t row_end = 32;     ///< ends a row: as Python's str.splitlines() divides
}  // namespace trait

/// A character of a text.
struct character {
  std::uint8_t traits = 0;
  std::uint8_t bytes = 1;
};

/// The traits of the characters of ASCII: most texts have hardly any others.
inline constexpr std::array<std::uint8_t, 128> ascii_traits = [] {
  std::array<std::uint8_t, 128> made{};
  for (unsigned value = 0; value < made.size(); ++value) {
    const char c = static_cast<char>(value);
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool is_digit = c >= '0' && c <= '9';
    unsigned traits = 0;
    if (is_letter) traits |= trait::letter;
    if (is_letter || is_digit) traits |= trait::in_token;
    if (c == ' ' || (c >= '\t' && c <= '\r') || (c >= '\x1c' && c <= '\x1f')) traits |= trait::space;
    if ((c >= '\n' && c <= '\r') || (c >= '\x1c' && c <= '\x1e')) traits |= trait::row_end;
    if (!is_letter && !is_digit && c != '\t' && c != '\n' && c != ' ') traits |= trait::punctuation;
    if (c == '.' || c == '?' || c == '!') traits |= trait::end_mark;
    made[value] = static_cast<std::uint8_t>(traits);
  }
  return made;
}();

/// A code point and the bytes that encode it.
struct decoded_character {
  char32_t code_point = 0;
  std::uint8_t bytes = 1;
};

/// The code point beyond ASCII at the beginning of valid UTF-8.
decoded_character decode_wide(std::string_view text);

/// The code point at the beginning of valid UTF-8 that is not empty.
inline decoded_character decode(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  if (first < ascii_traits.size()) return {.code_point = first, .bytes = 1};
  return decode_wide(text);
}

/// A character beyond ASCII, at the beginning of valid UTF-8.
character wide_character_at(std::string_view text);

/// The character at the beginning of valid UTF-8 that is not empty.
inline character character_at(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  if (first < ascii_traits.size()) return {.traits = ascii_traits[first], .bytes = 1};
  return wide_character_at(text);
}

/// The last character of valid UTF-8 that is not empty.
character last_character_of(std::string_view text);

/// The number of characters of valid UTF-8.
std::size_t characters_in(std::string_view text);

/// How often a byte occurs.
std::size_t count_of(char byte, std::string_view text);

/// Without white space at its beginning, and at its end.
std::string_view without_leading_space(std::string_view text);
std::string_view without_trailing_space(std::string_view text);

/// What any text that is not empty begins with.
struct utf8_sequence {
  enum class kind : std::uint8_t {
    valid,       ///< a character
    malformed,   ///< a maximal subpart of an ill-formed sequence
    incomplete,  ///< all of the text; more bytes may complete it
  };

  std::size_t bytes = 1;
  kind is = kind::valid;
};
utf8_sequence sequence_at(std::string_view text);

/// The text, with U+FFFD in place of each malformed sequence; `room` holds it if there is one.
std::string_view as_utf8(std::string_view text, std::string& room);

/// Appends a character in UTF-8.
void append_character(char32_t code_point, std::string& to);

/// In lower case, character by character (U+0130 becomes two: i and U+0307).
void append_lower(std::string_view text, std::string& to);

}  // namespace gpuhist::report::texts
