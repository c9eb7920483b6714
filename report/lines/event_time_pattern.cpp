#include "report/lines/event_time_pattern.hpp"

#include "config/text.hpp"
#include "config/usage_error.hpp"
#include "report/lines/event_time_text.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace gpuhist::report::lines {
namespace {

using namespace time_text;

constexpr std::string_view known_directives = "YymdbeajHIMSpfzZsTF%";

constexpr std::array<std::string_view, 12> full_months{"january",   "february", "march",    "april",
                                                       "may",       "june",     "july",     "august",
                                                       "september", "october",  "november", "december"};
constexpr std::array<std::string_view, 7> full_weekdays{"monday", "tuesday",  "wednesday", "thursday",
                                                        "friday", "saturday", "sunday"};

[[noreturn]] void refuse(std::string_view typed, const std::string& cause) {
  throw config::usage_error("the time pattern " + config::quote(typed) + ": " + cause);
}

// What the directives of a pattern have read.
struct parts {
  calendar_date day;
  unsigned day_of_year = 0;
  time_of_day time;
  unsigned half_of_day = 0;  // 1: AM; 2: PM
  std::uint64_t epoch = 0;
  written_time made;
};

// A name, and the rest of its full form.
template <std::size_t size>
bool read_name(cursor& text, unsigned& made, const name_table<size>& names,
               const std::array<std::string_view, size>& full_names) {
  if (!text.name(made, names)) return false;
  const std::string_view tail = full_names[made - 1].substr(3);
  const std::string_view next = text.rest().substr(0, tail.size());
  if (std::ranges::equal(next, tail, {}, [](char byte) { return static_cast<char>(byte | 0x20); })) {
    text.advance(tail.size());
  }
  return true;
}

bool read_short_year(cursor& text, unsigned& year) {
  constexpr unsigned first_of_1900s = 69;
  if (!text.two(year)) return false;
  year += year < first_of_1900s ? 2000 : 1900;
  return true;
}

bool read_half(cursor& text, unsigned& half) {
  const char first = static_cast<char>(text.peek() | 0x20);
  if ((first != 'a' && first != 'p') || (text.peek(1) | 0x20) != 'm') return false;
  half = first == 'a' ? 1 : 2;
  text.advance(2);
  return true;
}

bool read_any_zone(cursor& text, written_time& made) {
  if (read_zone_name(text, made)) return true;
  if (!is_letter(text.peek())) return false;
  while (is_letter(text.peek())) text.advance(1);
  return true;
}

bool read_seconds(cursor& text, std::uint64_t& seconds) {
  constexpr std::size_t longest = 11;
  std::size_t digits = 0;
  seconds = 0;
  for (; digits < longest && is_digit(text.peek()); ++digits, text.advance(1)) {
    seconds = 10 * seconds + static_cast<std::uint64_t>(text.peek() - '0');
  }
  return digits > 0;
}

bool read_directive(char directive, cursor& text, parts& made) {
  switch (directive) {
    case 'Y':
      return text.four(made.day.year);
    case 'y':
      return read_short_year(text, made.day.year);
    case 'm':
      return text.number(made.day.month, 1, 2);
    case 'b':
      return read_name(text, made.day.month, months, full_months);
    case 'd':
    case 'e':
      return text.day(made.day.day);
    case 'j':
      return text.number(made.day_of_year, 1, 3);
    case 'a': {
      unsigned weekday = 0;
      return read_name(text, weekday, weekdays, full_weekdays);
    }
    case 'H':
    case 'I':
      return text.number(made.time.hour, 1, 2);
    case 'M':
      return text.number(made.time.minute, 1, 2);
    case 'S':
      return text.number(made.time.second, 1, 2);
    case 'p':
      return read_half(text, made.half_of_day);
    case 'f':
      return text.fraction(made.made.nanoseconds);
    case 'z':
      return read_offset(text, made.made, true) || read_zone_name(text, made.made);
    case 'Z':
      return read_any_zone(text, made.made);
    case 's':
      return read_seconds(text, made.epoch);
    default:
      return text.skip_blanks();
  }
}

bool apply_half(parts& made) {
  constexpr unsigned half = 12;
  if (made.time.hour == 0 || made.time.hour > half) return false;
  made.time.hour = made.time.hour % half + (made.half_of_day == 2 ? half : 0);
  return true;
}

// The day of the year as a month and a day.
bool apply_day_of_year(parts& made) {
  if (made.day_of_year == 0) return false;
  unsigned rest = made.day_of_year;
  for (made.day.month = 1; made.day.month <= 12; ++made.day.month) {
    const unsigned length = days_in(made.day.year, made.day.month);
    if (rest <= length) break;
    rest -= length;
  }
  made.day.day = rest;
  return made.day.month <= 12;
}

}  // namespace

time_pattern::time_pattern(std::string_view typed) : is_anywhere_(typed.starts_with('*')) {
  for (std::size_t at = is_anywhere_ ? 1 : 0; at < typed.size(); ++at) {
    if (typed[at] == '%') {
      add_directive(typed, ++at);
    } else if (is_blank(typed[at])) {
      if (steps_.empty() || steps_.back().directive != ' ') add(' ');
    } else {
      steps_.push_back({.literal = typed[at]});
    }
  }
  check(typed);
}

void time_pattern::add(char byte) { steps_.push_back({.directive = byte}); }

void time_pattern::add_directive(std::string_view typed, std::size_t at) {
  if (at >= typed.size()) refuse(typed, "'%' at the end; write %% for a percent sign");
  const char directive = typed[at];
  if (known_directives.find(directive) == std::string_view::npos) {
    std::string known;
    for (const char each : known_directives) known += (known.empty() ? "%" : " %") + std::string(1, each);
    const std::size_t length = std::max<std::size_t>(config::utf8_sequence(typed.substr(at)), 1);
    refuse(typed, config::quote(typed.substr(at - 1, 1 + length)) + " is unknown; known are " + known);
  }
  if (directive == '%') {
    steps_.push_back({.literal = '%'});
  } else if (directive == 'T' || directive == 'F') {
    const std::string_view expanded = directive == 'T' ? "H:M:S" : "Y-m-d";
    for (const char each : expanded) is_letter(each) ? add(each) : steps_.push_back({.literal = each});
  } else {
    add(directive);
  }
}

bool time_pattern::has(std::string_view any_of) const {
  return std::ranges::any_of(steps_, [any_of](const step& each) {
    return each.directive != '\0' && any_of.find(each.directive) != std::string_view::npos;
  });
}

void time_pattern::check(std::string_view typed) const {
  if (has("I") != has("p")) refuse(typed, "%I and %p require each other; write %H for hours of 0 to 23");
  if (has("I") && has("H")) refuse(typed, "%H and %I exclude each other");
  if (has("s")) return;
  if (has("j")) {
    if (!has("Yy")) refuse(typed, "%j requires a year; add %Y or %y");
    if (has("mbde")) refuse(typed, "%j excludes %m, %b, %d and %e");
    return;
  }
  if (!has("mb")) refuse(typed, "it states no month; add %m, %b or %F, or %s for seconds since 1970");
  if (!has("de")) refuse(typed, "it states no day; add %d or %e");
}

std::optional<written_time> time_pattern::find(std::string_view line) const {
  if (!is_anywhere_) return read(line);
  const std::size_t end = std::min(line.size(), anywhere_prefix);
  const step& first = steps_.front();
  for (std::size_t begin = 0; begin < end; ++begin) {
    if (first.directive == '\0') begin = std::min(line.find(first.literal, begin), end);
    if (begin == end) break;
    if (const std::optional<written_time> found = read(line.substr(begin))) return found;
  }
  return std::nullopt;
}

std::optional<written_time> time_pattern::read(std::string_view from) const {
  cursor text(from);
  parts made;
  for (const step& each : steps_) {
    const bool matches = each.directive == '\0' ? text.skip(each.literal) : read_directive(each.directive, text, made);
    if (!matches) return std::nullopt;
  }
  if (has("s")) {
    made.made.seconds = static_cast<std::int64_t>(made.epoch);
    made.made.set_offset(0);
    return made.made;
  }
  if (made.half_of_day != 0 && !apply_half(made)) return std::nullopt;
  if (made.day_of_year != 0 || made.day.month == 0) {
    if (!apply_day_of_year(made)) return std::nullopt;
  }
  if (!is_clock(made.time)) return std::nullopt;
  const bool is_valid =
      has("Yy") ? set_time(made.made, made.day, made.time) : set_time_without_year(made.made, made.day, made.time);
  return is_valid ? std::optional(made.made) : std::nullopt;
}

}  // namespace gpuhist::report::lines
