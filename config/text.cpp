#include "config/text.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace gpuhist::config {

// Text from users, safe for messages.

namespace {

// These marks change the direction of the text after them: a name could look like another one (Unicode TR36).
constexpr std::array<std::string_view, 12> bidi_marks = {"\u200e", "\u200f", "\u202a", "\u202b", "\u202c", "\u202d",
                                                         "\u202e", "\u2066", "\u2067", "\u2068", "\u2069", "\u061c"};

bool is_control(std::string_view sequence) {
  const auto first = static_cast<unsigned char>(sequence.front());
  if (sequence.size() == 1) return first < 0x20 || first == 0x7f;
  if (std::find(bidi_marks.begin(), bidi_marks.end(), sequence) != bidi_marks.end()) return true;
  // U+0080 to U+009f: some terminals execute them
  return first == 0xc2 && static_cast<unsigned char>(sequence[1]) < 0xa0;
}

void escape(std::string_view bytes, std::string& out) {
  constexpr std::string_view digits = "0123456789abcdef";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += {'\\', 'x', digits[byte >> 4U], digits[byte & 0xfU]};
  }
}

}  // namespace

std::string on_one_line(std::string_view typed) {
  std::string out;
  while (!typed.empty()) {
    const std::size_t length = utf8_sequence(typed);
    const std::string_view sequence = typed.substr(0, std::max<std::size_t>(length, 1));
    if (length == 0 || is_control(sequence)) {
      escape(sequence, out);
    } else {
      out += sequence;
    }
    typed.remove_prefix(sequence.size());
  }
  return out;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(' '), text.size());
  return text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

std::string quote(std::string_view typed) { return "\"" + on_one_line(typed) + "\""; }

std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, 1, ',');
  return digits;
}

std::string number_of(std::uint64_t number, std::string_view noun) {
  return grouped(number) + " " + std::string(noun) + (number == 1 ? "" : "s");
}

std::string fixed(double value, int decimals) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
  return text.data();
}

namespace {

std::uint32_t byte_at(std::string_view text, std::size_t i) { return static_cast<unsigned char>(text[i]); }

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U; }

}  // namespace

std::size_t utf8_sequence(std::string_view text) {
  if (text.empty()) return 0;
  const std::uint32_t lead = byte_at(text, 0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (!is_continuation(text[i])) return 0;
  }
  const std::uint32_t second = byte_at(text, 1);
  const bool overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
  const bool surrogate = lead == 0xed && second >= 0xa0;
  const bool past_the_end = lead == 0xf4 && second >= 0x90;
  return overlong || surrogate || past_the_end ? 0 : length;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_sequence(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

namespace {

constexpr std::size_t columns = 80;

}  // namespace

std::string wrapped(std::string_view text, std::size_t indent) {
  std::string out;
  std::string line;
  const auto end_line = [&] {
    if (!line.empty()) out += std::string(indent, ' ') + line + "\n";
    line.clear();
  };
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" \n"), text.size());
    const std::string_view word = text.substr(0, end);
    if (!line.empty() && indent + line.size() + 1 + word.size() > columns) end_line();
    if (!word.empty()) line += (line.empty() ? "" : " ") + std::string(word);
    if (end < text.size() && text[end] == '\n') end_line();
    if (text.substr(end).starts_with("\n\n")) out += "\n";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  end_line();
  return out;
}

}  // namespace gpuhist::config
