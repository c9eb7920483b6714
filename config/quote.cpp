// Text from users, safe for messages.
#include "config/quote.hpp"

#include "config/utf8.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace gpuhist::config {
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

std::string quote(std::string_view typed) { return "\"" + on_one_line(typed) + "\""; }

}  // namespace gpuhist::config
