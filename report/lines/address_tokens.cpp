#include "report/lines/address_tokens.hpp"

#include "report/lines/time_stamps.hpp"

#include <algorithm>

namespace gpuhist::report::lines {
namespace {

bool is_decimal_digit(char byte) { return byte >= '0' && byte <= '9'; }

bool is_hex_digit(char byte) {
  return is_decimal_digit(byte) || (byte >= 'a' && byte <= 'f') || (byte >= 'A' && byte <= 'F');
}

bool has_byte(std::string_view text, std::size_t at, char byte) { return at < text.size() && text[at] == byte; }

bool has_hex_digit(std::string_view text, std::size_t at) { return at < text.size() && is_hex_digit(text[at]); }

bool ends_word(std::string_view text, std::size_t at) { return at >= text.size() || !is_word_byte(text[at]); }

// Whether a text begins with hexadecimal digits and, at the positions at which `pattern` has it, a separator.
bool begins_with_groups(std::string_view text, std::string_view pattern, char separator) {
  if (text.size() < pattern.size()) return false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == separator ? text[i] != separator : !is_hex_digit(text[i])) return false;
  }
  return true;
}

std::size_t hex_digits_at(std::string_view text, std::size_t at, std::size_t most) {
  std::size_t digits = 0;
  while (digits <= most && has_hex_digit(text, at + digits)) ++digits;
  return digits;
}

// The groups of an IPv6 address.
struct address_groups {
  std::size_t end = 0;
  std::size_t number = 0;
  bool has_gap = false;  // "::"
  bool is_valid = true;
};

// One group and the colon after it if the address continues. Returns whether it does.
bool read_group(std::string_view text, address_groups& groups) {
  constexpr std::size_t most_digits = 4;
  constexpr std::size_t before_ipv4 = 6;
  const std::size_t digits = hex_digits_at(text, groups.end, most_digits);
  if (digits == 0) return false;
  if (has_byte(text, groups.end + digits, '.') && (groups.has_gap || groups.number == before_ipv4)) {
    if (const std::size_t ipv4 = ipv4_length(text.substr(groups.end)); ipv4 > 0) {
      groups.end += ipv4;
      groups.number += 2;
      return false;
    }
  }
  groups.is_valid = digits <= most_digits;
  groups.end += digits;
  ++groups.number;
  if (!groups.is_valid || !has_byte(text, groups.end, ':')) return false;
  if (has_byte(text, groups.end + 1, ':')) {
    groups.is_valid = !groups.has_gap;
    groups.has_gap = true;
    groups.end += 2;
    return groups.is_valid;
  }
  if (!has_hex_digit(text, groups.end + 1)) return false;
  ++groups.end;
  return true;
}

}  // namespace

std::size_t uuid_length(std::string_view text) {
  constexpr std::string_view pattern = "00000000-0000-0000-0000-000000000000";
  return begins_with_groups(text, pattern, '-') && ends_word(text, pattern.size()) ? pattern.size() : 0;
}

std::size_t mac_length(std::string_view text) {
  constexpr std::string_view pattern = "00:00:00:00:00:00";
  if (!begins_with_groups(text, pattern, ':') || !ends_word(text, pattern.size())) return 0;
  const bool continues = has_byte(text, pattern.size(), ':') && has_hex_digit(text, pattern.size() + 1);
  return continues ? 0 : pattern.size();
}

std::size_t ipv6_length(std::string_view text) {
  constexpr std::size_t all_groups = 8;
  address_groups groups;
  if (text.starts_with("::")) groups = {.end = 2, .has_gap = true};
  while (groups.number <= all_groups && read_group(text, groups)) {
  }
  const bool is_complete = groups.has_gap ? groups.number < all_groups : groups.number == all_groups;
  if (!groups.is_valid || !is_complete || !ends_word(text, groups.end)) return 0;
  const bool has_digit = std::ranges::any_of(text.substr(0, groups.end), is_decimal_digit);
  return has_digit ? groups.end : 0;
}

std::size_t ipv4_length(std::string_view text) {
  constexpr int numbers = 4;
  constexpr unsigned most = 255;
  constexpr std::size_t most_digits = 3;
  std::size_t at = 0;
  for (int i = 0; i < numbers; ++i) {
    if (i > 0 && !has_byte(text, at, '.')) return 0;
    if (i > 0) ++at;
    const std::size_t begin = at;
    unsigned value = 0;
    for (; at < text.size() && at - begin <= most_digits && is_decimal_digit(text[at]); ++at) {
      value = value * 10 + static_cast<unsigned>(text[at] - '0');
    }
    if (at == begin || at - begin > most_digits || value > most) return 0;
  }
  const bool continues = has_byte(text, at, '.') && at + 1 < text.size() && is_decimal_digit(text[at + 1]);
  return continues || !ends_word(text, at) ? 0 : at;
}

}  // namespace gpuhist::report::lines
