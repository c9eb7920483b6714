// What the user typed, as it stands in a message of one line.
#include "config/quote.hpp"

namespace gpuhist::config {

std::string on_one_line(std::string_view typed) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (const char c : typed) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      out += {'\\', 'x', digits[byte >> 4U], digits[byte & 0xfU]};
    } else {
      out += c;
    }
  }
  return out;
}

std::string quote(std::string_view typed) { return "\"" + on_one_line(typed) + "\""; }

}  // namespace gpuhist::config
