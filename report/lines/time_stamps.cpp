#include "report/lines/time_stamps.hpp"

#include <algorithm>
#include <array>

namespace gpuhist::report::lines {
namespace {

bool is_decimal(char byte) { return byte >= '0' && byte <= '9'; }

bool is_letter(char byte) { return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z'); }

std::size_t decimal_digits(std::string_view text) {
  std::size_t digits = 0;
  while (digits < text.size() && is_decimal(text[digits])) ++digits;
  return digits;
}

bool begins_word(std::string_view text) { return !text.empty() && is_word_byte(text.front()); }

bool begins_with_month(std::string_view text) {
  constexpr std::array<std::string_view, 12> months = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                       "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  return std::ranges::any_of(months, [text](std::string_view each) { return text.starts_with(each); });
}

bool begins_with_weekday(std::string_view text) {
  constexpr std::array<std::string_view, 7> days = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};
  return std::ranges::any_of(days, [text](std::string_view each) { return text.starts_with(each); });
}

std::size_t fraction_length(std::string_view text) {
  constexpr std::size_t fewest_after_comma = 3;
  if (text.empty() || (text.front() != '.' && text.front() != ',')) return 0;
  const std::size_t digits = decimal_digits(text.substr(1));
  return digits >= (text.front() == ',' ? fewest_after_comma : 1) ? digits + 1 : 0;
}

// MM:SS with fraction; 0 also if a digit follows.
std::size_t minutes_length(std::string_view text) {
  constexpr std::size_t length = 5;
  if (!begins_with_pattern(text, "99:99")) return 0;
  text.remove_prefix(length);
  if (!text.empty() && is_decimal(text.front())) return 0;
  return length + fraction_length(text);
}

std::size_t zone_length(std::string_view text) {
  if (text.starts_with('Z') && !begins_word(text.substr(1))) return 1;
  const std::size_t blank = text.starts_with(' ') ? 1 : 0;
  const std::string_view zone = text.substr(blank);
  constexpr std::size_t name_length = 3;
  if (blank == 1 && (zone.starts_with("UTC") || zone.starts_with("GMT")) && !begins_word(zone.substr(name_length))) {
    return blank + name_length;
  }
  if (!zone.starts_with('+') && !zone.starts_with('-')) return 0;
  for (const std::string_view pattern : {"99:99", "9999", "99"}) {
    const bool is_zone = begins_with_pattern(zone.substr(1), pattern) && !begins_word(zone.substr(1 + pattern.size()));
    // after a blank, two digits are a number
    if (is_zone && (blank == 0 || pattern.size() > 2)) return blank + 1 + pattern.size();
  }
  return 0;
}

}  // namespace

bool begins_with_pattern(std::string_view text, std::string_view pattern) {
  if (text.size() < pattern.size()) return false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char expected = pattern[i];
    const bool is_match = expected == '9'   ? is_decimal(text[i])
                          : expected == 'A' ? is_letter(text[i])
                                            : text[i] == expected;
    if (!is_match) return false;
  }
  return true;
}

bool is_word_byte(char byte) { return is_decimal(byte) || is_letter(byte) || static_cast<unsigned char>(byte) >= 0x80; }

std::size_t clock_time_length(std::string_view text) {
  const std::size_t hours = decimal_digits(text.substr(0, 3));
  if (hours == 0 || hours > 2 || hours == text.size() || text[hours] != ':') return 0;
  const std::size_t rest = minutes_length(text.substr(hours + 1));
  return rest == 0 ? 0 : hours + 1 + rest;
}

std::size_t iso_time_length(std::string_view text) {
  constexpr std::size_t date_length = 10;
  constexpr std::size_t minute_length = 6;  // of "T13:55"
  if (!begins_with_pattern(text, "9999-99-99") && !begins_with_pattern(text, "9999/99/99")) return 0;
  std::string_view rest = text.substr(date_length);
  if (rest.empty()) return date_length;
  const char separator = rest.front();
  if (separator != 'T' && separator != ' ') return is_word_byte(separator) ? 0 : date_length;
  std::size_t time = 1 + clock_time_length(rest.substr(1));
  const bool has_hour = begins_with_pattern(rest.substr(1), "99:99");
  if (time == 1 && has_hour && !begins_word(rest.substr(minute_length))) time = minute_length;
  if (time == 1 || !has_hour) return separator == ' ' ? date_length : 0;
  rest.remove_prefix(time);
  return date_length + time + zone_length(rest);
}

std::size_t clf_time_length(std::string_view text) {
  constexpr std::size_t length = 20;  // of "10/Oct/2025:13:55:36"
  constexpr std::size_t month = 3;
  if (!begins_with_pattern(text, "99/AAA/9999:99:99:99") || !begins_with_month(text.substr(month))) return 0;
  text.remove_prefix(length);
  return !text.empty() && is_decimal(text.front()) ? 0 : length + zone_length(text);
}

std::size_t syslog_priority_length(std::string_view text) {
  for (const std::string_view pattern : {"<99>", "<999>", "<9>"}) {
    if (begins_with_pattern(text, pattern)) return pattern.size();
  }
  return 0;
}

std::size_t syslog_time_length(std::string_view text) {
  constexpr std::size_t weekday_length = 4;  // of "Sat "
  constexpr std::size_t date_length = 7;     // of "Oct 10 "
  constexpr std::size_t year_length = 5;     // of " 2025"
  if (!begins_with_pattern(text, "AAA ")) return 0;
  const bool has_weekday = begins_with_weekday(text) && text.substr(0, weekday_length).ends_with(' ');
  const std::size_t begin = has_weekday ? weekday_length : 0;
  const std::string_view date = text.substr(begin);
  if (!begins_with_month(date)) return 0;
  if (!begins_with_pattern(date, "AAA 99 ") && !begins_with_pattern(date, "AAA  9 ")) return 0;
  const std::size_t clock = clock_time_length(date.substr(date_length));
  if (clock == 0) return 0;
  const std::size_t end = begin + date_length + clock;
  const std::string_view rest = text.substr(end);
  const bool has_year = has_weekday && begins_with_pattern(rest, " 9999") && !begins_word(rest.substr(year_length));
  return has_year ? end + year_length : end;
}

}  // namespace gpuhist::report::lines
