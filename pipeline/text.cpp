// Text as reports need it: what is UTF-8, how wide it is, what is safe to print, and numbers for people.
#include "pipeline/text.hpp"

#include <wchar.h>  // wcwidth is POSIX: <cwchar> need not have it

#include <algorithm>
#include <array>

namespace gpuhist::pipeline {
namespace {

std::uint32_t byte_at(std::string_view text, std::size_t i) { return static_cast<unsigned char>(text[i]); }

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U; }

// Takes the first code point off a text that is UTF-8.
std::uint32_t first_of(std::string_view& text) {
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

std::size_t columns(std::string_view text) {
  std::size_t total = 0;
  while (!text.empty()) total += width_of(first_of(text));
  return total;
}

std::string cut_to(std::string_view text, std::size_t width) {
  constexpr std::string_view ellipsis = "...";
  std::size_t has = columns(text);
  if (has <= width) return std::string(text);
  const std::size_t room = width - std::min(width, ellipsis.size());
  std::string_view kept = text;
  for (; !text.empty(); kept = text) {
    const std::size_t first = width_of(first_of(text));
    if (has <= room && first > 0) break;
    has -= first;
  }
  return std::string(ellipsis).append(kept);
}

std::string base64(std::string_view raw) {
  constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < raw.size(); i += 3) {
    const std::size_t have = std::min<std::size_t>(3, raw.size() - i);
    std::uint32_t bits = 0;
    for (std::size_t j = 0; j < 3; ++j) bits = bits << 8U | (j < have ? byte_at(raw, i + j) : 0);
    for (std::size_t j = 0; j < 4; ++j) out += j <= have ? alphabet[bits >> (18 - 6 * j) & 63U] : '=';
  }
  return out;
}

std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, 1, ',');
  return digits;
}

}  // namespace gpuhist::pipeline
