#include "io/json/json_place.hpp"

#include <simdjson.h>

#include <algorithm>
#include <string>

namespace gpuhist::io {
namespace {

std::size_t after_blanks(std::string_view text, std::size_t at) {
  return std::min(text.find_first_not_of(" \t\r\n", at), text.size());
}

// `at`: of the opening quote.
std::size_t end_of_string(std::string_view text, std::size_t at) {
  at = text.find_first_of("\"\\", at + 1);
  while (text[at] != '"') at = text.find_first_of("\"\\", at + 2);  // after what is escaped
  return at + 1;
}

std::size_t end_of_value(std::string_view text, std::size_t at) {
  std::size_t depth = 0;
  do {
    if (text[at] == '"') {
      at = end_of_string(text, at);
    } else if (text[at] == '{' || text[at] == '[') {
      ++depth;
      ++at;
    } else if (text[at] == '}' || text[at] == ']') {
      --depth;
      ++at;
    } else if (depth == 0) {
      return std::min(text.find_first_of(",]} \t\r\n", at), text.size());
    }
    if (depth > 0) at = text.find_first_of("\"{}[]", at);
  } while (depth > 0);
  return at;
}

// `raw`: a string, with its quotes.
bool is_key(std::string_view raw, std::string_view key) {
  if (raw.find('\\') == std::string_view::npos) return raw.substr(1, raw.size() - 2) == key;
  simdjson::dom::parser parser;
  std::string_view decoded;
  return parser.parse(std::string(raw)).get(decoded) == simdjson::SUCCESS && decoded == key;
}

// The member or element of the object or array at a place.
json_extent find_inner(std::string_view text, std::size_t at, const json_step& step) {
  const bool is_object = text[at] == '{';
  json_extent found;
  at = after_blanks(text, at + 1);
  for (std::size_t number = 0; text[at] != '}' && text[at] != ']'; ++number) {
    bool is_meant = step.index == number;
    if (is_object) {
      const std::size_t end = end_of_string(text, at);
      is_meant = is_key(text.substr(at, end - at), step.key);
      at = after_blanks(text, after_blanks(text, end) + 1);  // after the colon
    }
    const std::size_t end = end_of_value(text, at);
    if (is_meant) found = {.begin = at, .bytes = end - at};
    at = after_blanks(text, end);
    if (text[at] == ',') at = after_blanks(text, at + 1);
  }
  return found;
}

}  // namespace

void append_json_string(std::string_view value, std::string& to) {
  constexpr std::string_view digits = "0123456789abcdef";
  constexpr std::string_view escaped = "\"\\\b\f\n\r\t";
  constexpr std::string_view letters = "\"\\bfnrt";
  const auto is_plain = [](char each) {
    return static_cast<unsigned char>(each) >= ' ' && each != '"' && each != '\\';
  };
  to += '"';
  while (!value.empty()) {
    const auto plain = static_cast<std::size_t>(std::ranges::find_if_not(value, is_plain) - value.begin());
    to += value.substr(0, plain);
    if (plain == value.size()) break;
    const char next = value[plain];
    to += '\\';
    if (const std::size_t at = escaped.find(next); at != std::string_view::npos) {
      to += letters[at];
    } else {
      to += "u00";
      to += digits[static_cast<unsigned char>(next) >> 4U];
      to += digits[static_cast<unsigned char>(next) & 0xfU];
    }
    value.remove_prefix(plain + 1);
  }
  to += '"';
}

json_extent find_json_value(std::string_view text, std::span<const json_step> path) {
  json_extent found{.begin = after_blanks(text, 0), .bytes = text.size()};
  for (const json_step& step : path) found = find_inner(text, found.begin, step);
  return found;
}

}  // namespace gpuhist::io
