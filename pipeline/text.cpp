// Text as reports need it: what is UTF-8, how wide it is, what is safe to print, and numbers for people.
#include "pipeline/text.hpp"

#include <algorithm>
#include <array>

namespace gpuhist::pipeline {
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

std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return !is_continuation(c); }));
}

std::string cut_to(std::string_view text, std::size_t width) {
  constexpr std::string_view ellipsis = "...";
  const std::size_t has = columns(text);
  if (has <= width) return std::string(text);
  for (std::size_t surplus = has + ellipsis.size() - width; surplus > 0; --surplus) {
    do text.remove_prefix(1);
    while (!text.empty() && is_continuation(text.front()));
  }
  return std::string(ellipsis).append(text);
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
