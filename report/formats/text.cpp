#include "report/formats/text.hpp"

#include <wchar.h>  // NOLINT(modernize-deprecated-headers): wcwidth is POSIX, <cwchar> need not have it

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace gpuhist::report {
namespace {

constexpr std::string_view base64_alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::uint32_t byte_at(std::string_view text, std::size_t i) { return static_cast<unsigned char>(text[i]); }

// Removes the first code point of a UTF-8 text and returns it.
std::uint32_t take_code_point(std::string_view& text) {
  const std::size_t length = std::max<std::size_t>(1, utf8_sequence(text));
  std::uint32_t point = length == 1 ? byte_at(text, 0) : byte_at(text, 0) & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) point = point << 6U | (byte_at(text, i) & 0x3fU);
  text.remove_prefix(length);
  return point;
}

std::size_t width_of(std::uint32_t point) {
  const int width = ::wcwidth(static_cast<wchar_t>(point));  // glibc's wchar_t holds code points
  return width < 0 ? 1 : static_cast<std::size_t>(width);
}

}  // namespace

std::size_t columns(std::string_view text) {
  std::size_t total = 0;
  while (!text.empty()) total += width_of(take_code_point(text));
  return total;
}

std::string cut_to(std::string_view text, std::size_t width) {
  constexpr std::string_view ellipsis = "...";
  std::size_t remaining = columns(text);
  if (remaining <= width) return std::string(text);
  const std::size_t room = width - std::min(width, ellipsis.size());
  std::string_view kept = text;
  for (; !text.empty(); kept = text) {
    const std::size_t first = width_of(take_code_point(text));
    if (remaining <= room && first > 0) break;
    remaining -= first;
  }
  return std::string(ellipsis).append(kept);
}

std::string cut_end(std::string text, std::size_t width) {
  if (columns(text) <= width) return text;
  while (!text.empty() && columns(text) + 3 > width) {
    do {
      text.pop_back();
    } while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xc0U) == 0x80U);
    if (!text.empty() && static_cast<unsigned char>(text.back()) >= 0xc0U) text.pop_back();
  }
  return text + "...";
}

void append_number(std::string& to, std::uint64_t number) {
  std::array<char, 20> digits;  // NOLINT(cppcoreguidelines-pro-type-member-init): only what is written is read
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  to.append(digits.data(), end.ptr);
}

std::string shortest(double value) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

std::string measure_text(double value) {
  constexpr double exact_below = 9007199254740992.0;  // 2^53
  const double size = std::fabs(value);
  if (std::trunc(value) == value && size < exact_below) {
    return (value < 0 ? "-" : "") + grouped(static_cast<std::uint64_t>(size));
  }
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, 6);
  return {text.data(), end.ptr};
}

std::string base64(std::string_view raw) {
  std::string out;
  for (std::size_t i = 0; i < raw.size(); i += 3) {
    const std::size_t size = std::min<std::size_t>(3, raw.size() - i);
    std::uint32_t bits = 0;
    for (std::size_t j = 0; j < 3; ++j) bits = bits << 8U | (j < size ? byte_at(raw, i + j) : 0);
    for (std::size_t j = 0; j < 4; ++j) out += j <= size ? base64_alphabet[bits >> (18 - 6 * j) & 63U] : '=';
  }
  return out;
}

std::optional<std::string> from_base64(std::string_view text) {
  std::string out;
  std::uint32_t bits = 0;
  const std::string_view digits = text.substr(0, text.find('='));
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const std::size_t digit = base64_alphabet.find(digits[i]);
    if (digit == std::string_view::npos) return std::nullopt;
    bits = bits << 6U | static_cast<std::uint32_t>(digit);
    if (i % 4 != 0) out += static_cast<char>(bits >> (6 - 2 * (i % 4)) & 0xffU);
  }
  if (base64(out) != text) return std::nullopt;  // wrong padding, or unused bits that are not 0
  return out;
}

}  // namespace gpuhist::report
