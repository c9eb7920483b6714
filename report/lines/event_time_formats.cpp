#include "report/lines/event_time_formats.hpp"

#include "report/lines/event_time_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

namespace gpuhist::report::lines {
namespace {

using namespace time_text;

// The formats, each at the beginning of a text.

bool read_extended_iso(std::string_view from, written_time& made) {
  cursor text(from);
  calendar_date day;
  time_of_day time;
  if (!text.four(day.year) || !text.skip('-') || !text.two(day.month) || !text.skip('-') || !text.two(day.day) ||
      !text.skip_any('T', ' ', 't', '_', '\t') || !read_clock(text, time) || !set_time(made, day, time)) {
    return false;
  }
  read_fraction_if_any(text, made, '.', ',');
  read_zone_if_any(text, made);
  return true;
}

bool read_basic_iso(std::string_view from, written_time& made) {
  cursor text(from);
  calendar_date day;
  time_of_day time;
  if (!text.four(day.year) || !text.two(day.month) || !text.two(day.day) || !text.skip_any('T', 't') ||
      !text.two(time.hour) || !text.two(time.minute) || !text.two(time.second) || is_digit(text.peek()) ||
      !is_clock(time) || !set_time(made, day, time)) {
    return false;
  }
  read_fraction_if_any(text, made, '.', ',');
  read_zone_if_any(text, made);
  return true;
}

bool read_slashes(std::string_view from, written_time& made) {
  cursor text(from);
  calendar_date day;
  time_of_day time;
  if (!text.four(day.year) || !text.skip('/') || !text.two(day.month) || !text.skip('/') || !text.two(day.day) ||
      !text.skip_any(' ', '-', 'T') || !read_clock(text, time) || !set_time(made, day, time)) {
    return false;
  }
  read_fraction_if_any(text, made, '.', ',');
  read_zone_if_any(text, made);
  return true;
}

bool read_clf(std::string_view from, written_time& made) {
  cursor text(from);
  calendar_date day;
  time_of_day time;
  if (!text.skip('[') || !text.two(day.day) || !text.skip('/') || !text.name(day.month, months) || !text.skip('/') ||
      !text.four(day.year) || !text.skip(':') || !read_clock(text, time) || !set_time(made, day, time)) {
    return false;
  }
  read_fraction_if_any(text, made, '.');
  read_zone_if_any(text, made);
  return true;
}

bool skip_priority(cursor& text) {
  cursor ahead = text;
  unsigned priority = 0;
  if (!ahead.skip('<') || !ahead.number(priority, 1, 3) || !ahead.skip('>')) return false;
  text = ahead;
  return true;
}

bool read_syslog(std::string_view from, written_time& made) {
  cursor text(from);
  calendar_date day;
  time_of_day time;
  skip_priority(text);
  if (!text.name(day.month, months) || !text.skip(' ') || !text.day(day.day) || !text.skip(' ') ||
      !read_clock(text, time) || !set_time_without_year(made, day, time)) {
    return false;
  }
  read_fraction_if_any(text, made, '.');
  return true;
}

// The zone before the year in the output of date: a name or an offset, then a blank.
bool skip_zone_before_year(cursor& text, written_time& made) {
  if (is_digit(text.peek())) return true;
  if (!read_offset(text, made, true) && !read_zone_name(text, made)) {
    if (!is_letter(text.peek())) return false;
    while (is_letter(text.peek())) text.advance(1);
  }
  return text.skip(' ');
}

bool read_ctime(std::string_view from, written_time& made) {
  cursor text(from);
  unsigned weekday = 0;
  calendar_date day;
  time_of_day time;
  if (!text.name(weekday, weekdays) || !text.skip(' ') || !text.name(day.month, months) || !text.skip(' ') ||
      !text.day(day.day) || !text.skip(' ') || !read_clock(text, time)) {
    return false;
  }
  read_fraction_if_any(text, made, '.');
  return text.skip(' ') && skip_zone_before_year(text, made) && text.four(day.year) && !text.is_at_word() &&
         set_time(made, day, time);
}

bool read_rfc2822(std::string_view from, written_time& made) {
  cursor text(from);
  unsigned weekday = 0;
  calendar_date day;
  time_of_day time;
  if (!text.name(weekday, weekdays) || !text.skip(',') || !text.skip(' ') || !text.day(day.day) || !text.skip(' ') ||
      !text.name(day.month, months) || !text.skip(' ') || !text.four(day.year) || !text.skip(' ') ||
      !read_clock(text, time) || !set_time(made, day, time)) {
    return false;
  }
  read_fraction_if_any(text, made, '.');
  read_zone_if_any(text, made);
  return true;
}

bool read_glog(std::string_view from, written_time& made) {
  cursor text(from);
  calendar_date day;
  time_of_day time;
  const bool has_year = from.size() > 8 && std::ranges::all_of(from.substr(1, 8), is_digit);
  if (!text.skip_any('I', 'W', 'E', 'F') || (has_year && !text.four(day.year)) || !text.two(day.month) ||
      !text.two(day.day) || !text.skip(' ') || !read_clock(text, time) || !text.skip('.') ||
      !text.fraction(made.nanoseconds)) {
    return false;
  }
  return has_year ? set_time(made, day, time) : set_time_without_year(made, day, time);
}

bool read_dmesg(std::string_view from, written_time& made) {
  constexpr std::size_t microsecond_digits = 6;
  cursor text(from);
  skip_priority(text);
  unsigned seconds = 0;
  if (!text.skip('[')) return false;
  text.skip_blanks();
  if (!text.number(seconds, 1, 9) || !text.skip('.')) return false;
  const std::size_t before = text.size();
  if (!text.fraction(made.nanoseconds) || before - text.size() != microsecond_digits || !text.skip(']')) return false;
  made.seconds = seconds;
  made.set_offset(0);
  return true;
}

// Units of a number of `digits` digits in a second; 0: it is no time.
std::uint64_t units_of_epoch(std::size_t digits) {
  switch (digits) {
    case 10:
      return 1;
    case 13:
      return 1'000;
    case 16:
      return 1'000'000;
    case 19:
      return 1'000'000'000;
    default:
      return 0;
  }
}

bool read_epoch(std::string_view from, written_time& made) {
  constexpr std::uint64_t second_nanoseconds = 1'000'000'000;
  std::uint64_t value = 0;
  const char* const first = from.data();
  const auto parsed = std::from_chars(first, first + std::min<std::size_t>(from.size(), 20), value);
  const auto digits = static_cast<std::size_t>(parsed.ptr - first);
  const std::uint64_t units = parsed.ec == std::errc() ? units_of_epoch(digits) : 0;
  if (units == 0) return false;
  cursor text(from.substr(digits));
  made.nanoseconds = static_cast<std::uint32_t>(value % units * (second_nanoseconds / units));
  if (units == 1) read_fraction_if_any(text, made, '.');
  if (text.is_at_word()) return false;
  made.seconds = static_cast<std::int64_t>(value / units);
  made.set_offset(0);
  return true;
}

// "AM" or "PM", perhaps after a blank, makes an hour of 1 to 12 one of 0 to 23. False: the hour does not match.
bool read_half_of_day(cursor& text, time_of_day& made) {
  cursor ahead = text;
  ahead.skip(' ');
  const char half = static_cast<char>(ahead.peek() | 0x20);
  const bool is_half = (half == 'a' || half == 'p') && (ahead.peek(1) | 0x20) == 'm' && !is_alphanumeric(ahead.peek(2));
  if (!is_half) return true;
  if (made.hour == 0 || made.hour > 12) return false;
  made.hour = made.hour % 12 + (half == 'p' ? 12 : 0);
  ahead.advance(2);
  text = ahead;
  return true;
}

// " 1:55:36 PM", " 13:55:36", perhaps after a comma.
bool read_clock_after_year(cursor& text, const calendar_date& day, written_time& made) {
  time_of_day time;
  text.skip(',');
  if (!text.skip(' ') || !text.number(time.hour, 1, 2) || !text.skip(':') || !text.two(time.minute) ||
      !text.skip(':') || !text.two(time.second) || is_digit(text.peek())) {
    return false;
  }
  read_fraction_if_any(text, made, '.');
  return read_half_of_day(text, time) && is_clock(time) && set_time(made, day, time);
}

bool read_us(std::string_view from, written_time& made) {
  cursor text(from);
  calendar_date day;
  if (!text.number(day.month, 1, 2) || !text.skip('/') || !text.number(day.day, 1, 2) || !text.skip('/') ||
      !text.four(day.year)) {
    return false;
  }
  return read_clock_after_year(text, day, made);
}

// "7:M " before the date: the process and the role of Redis.
void skip_process(cursor& text) {
  cursor ahead = text;
  unsigned process = 0;
  if (!ahead.number(process, 1, 9) || !ahead.skip(':') || !is_letter(ahead.peek())) return;
  ahead.advance(1);
  if (ahead.skip(' ')) text = ahead;
}

bool read_dmy(std::string_view from, written_time& made) {
  cursor text(from);
  calendar_date day;
  time_of_day time;
  skip_process(text);
  const char separator = text.peek(text.peek(1) == '-' || text.peek(1) == ' ' ? 1 : 2);
  if ((separator != '-' && separator != ' ') || !text.number(day.day, 1, 2) || !text.skip(separator) ||
      !text.name(day.month, months) || !text.skip(separator) || !text.four(day.year) || !text.skip_any(' ', 'T') ||
      !read_clock(text, time) || !set_time(made, day, time)) {
    return false;
  }
  read_fraction_if_any(text, made, '.', ',');
  read_zone_if_any(text, made);
  return true;
}

bool read_mdy(std::string_view from, written_time& made) {
  cursor text(from);
  calendar_date day;
  if (!text.name(day.month, months) || !text.skip(' ') || !text.day(day.day) || !text.skip(',') || !text.skip(' ') ||
      !text.four(day.year)) {
    return false;
  }
  return read_clock_after_year(text, day, made);
}

std::string_view after_opening(std::string_view line) {
  return !line.empty() && (line[0] == '[' || line[0] == '(' || line[0] == '"') ? line.substr(1) : line;
}

// `reader`: one of the functions above, as a constant so that it is inlined. What a failed attempt wrote is removed.
template <auto reader>
bool read_with(std::string_view text, written_time& made) {
  if (reader(text, made)) return true;
  made = {};
  return false;
}

template <auto reader>
bool found_with(std::string_view text, time_format format, found_time& made) {
  made.format = format;
  return read_with<reader>(text, made.time);
}

// The formats that are read anywhere in a prefix of the line.

constexpr std::size_t nowhere = std::string_view::npos;

// A byte that is in each time of a format, at a fixed distance from its beginning, and not before it.
struct time_mark {
  char byte;
  std::size_t distance;
};

// Where the first match of `reader` begins, in the first `limit` bytes of the line, that `is_accepted`; or nowhere.
template <auto reader, typename acceptance>
std::size_t find_marked(std::string_view line, time_mark mark, std::size_t limit, acceptance is_accepted,
                        written_time& made) {
  const std::size_t end = std::min(limit + mark.distance, line.size());
  for (std::size_t at = mark.distance; at < end; at += 1 + mark.distance) {
    const void* const found = std::memchr(line.data() + at, mark.byte, end - at);
    if (found == nullptr) return nowhere;
    at = static_cast<std::size_t>(static_cast<const char*>(found) - line.data());
    const std::size_t begin = at - mark.distance;
    if (is_accepted(begin) && read_with<reader>(line.substr(begin), made)) return begin;
  }
  return nowhere;
}

// A clf time that begins in the first `limit` bytes.
std::size_t find_clf(std::string_view line, std::size_t limit, written_time& made) {
  const auto looks_right = [line](std::size_t begin) { return begin + 3 < line.size() && line[begin + 3] == '/'; };
  return find_marked<read_clf>(line, {.byte = '[', .distance = 0}, limit, looks_right, made);
}

std::size_t find_iso(std::string_view line, written_time& made) {
  constexpr std::size_t limit = 64;
  constexpr time_mark extended_mark{.byte = '-', .distance = 4};
  constexpr time_mark basic_mark{.byte = 'T', .distance = 8};
  const auto is_boundary = [line](std::size_t begin) {
    if (!is_digit(line[begin])) return false;
    if (begin == 0) return true;
    const char previous = line[begin - 1];
    return !is_alphanumeric(previous) && previous != '-' && previous != '.' && previous != '/';
  };
  const std::size_t extended = find_marked<read_extended_iso>(line, extended_mark, limit, is_boundary, made);
  if (extended == nowhere) return find_marked<read_basic_iso>(line, basic_mark, limit, is_boundary, made);
  written_time other;
  const std::size_t basic = find_marked<read_basic_iso>(line, basic_mark, extended, is_boundary, other);
  if (basic == nowhere) return extended;
  made = other;
  return basic;
}

bool find_first_of_iso_and_clf(std::string_view line, found_time& made) {
  const std::size_t iso = find_iso(line, made.time);
  made.format = time_format::iso;
  written_time other;
  written_time& clf = iso == nowhere ? made.time : other;
  if (find_clf(line, std::min(iso, anywhere_prefix), clf) == nowhere) return iso != nowhere;
  if (iso != nowhere) made.time = other;
  made.format = time_format::clf;
  return true;
}

// The formats that are read at the beginning.

bool find_by_digits(std::string_view text, found_time& made) {
  constexpr std::size_t longest = 20;
  const std::size_t limit = std::min(longest, text.size());
  std::size_t digits = 1;
  while (digits < limit && is_digit(text[digits])) ++digits;
  const char next = digits < text.size() ? text[digits] : '\0';
  if (digits == 4 && next == '-') return found_with<read_extended_iso>(text, time_format::iso, made);
  if (digits == 4 && next == '/') return found_with<read_slashes>(text, time_format::slashes, made);
  if (digits <= 2 && next == '/') return found_with<read_us>(text, time_format::us, made);
  if (next == ':' || (digits <= 2 && (next == ' ' || next == '-'))) {
    return found_with<read_dmy>(text, time_format::dmy, made);
  }
  return digits >= 10 && found_with<read_epoch>(text, time_format::epoch, made);
}

bool find_by_letters(std::string_view text, found_time& made) {
  if (text.size() < 4) return false;
  if (is_digit(text[1])) return found_with<read_glog>(text, time_format::glog, made);
  if (text[3] == ',') return found_with<read_rfc2822>(text, time_format::rfc2822, made);
  if (text[3] != ' ') return false;
  return found_with<read_syslog>(text, time_format::syslog, made) ||
         found_with<read_ctime>(text, time_format::ctime, made) || found_with<read_mdy>(text, time_format::mdy, made);
}

bool find_at_beginning(std::string_view line, found_time& made) {
  const std::string_view text = after_opening(line);
  if (text.empty()) return false;
  if (is_digit(text[0]) && find_by_digits(text, made)) return true;
  if (is_letter(text[0])) return find_by_letters(text, made);
  if (text[0] == '<' && found_with<read_syslog>(text, time_format::syslog, made)) return true;
  const bool may_be_dmesg = line[0] == '<' || line[0] == '[';
  return may_be_dmesg && found_with<read_dmesg>(line, time_format::dmesg, made);
}

}  // namespace

bool find_iso_at_beginning(std::string_view line, written_time& made) {
  return read_with<read_extended_iso>(line, made);
}

bool find_any_time(std::string_view line, found_time& made) {
  return find_at_beginning(line, made) || find_first_of_iso_and_clf(line, made);
}

bool find_time(std::string_view line, time_format format, written_time& made) {
  switch (format) {
    case time_format::iso:
      return find_iso(line, made) != nowhere;
    case time_format::clf:
      return find_clf(line, anywhere_prefix, made) != nowhere;
    case time_format::dmesg:
      return read_with<read_dmesg>(line, made);
    case time_format::slashes:
      return read_with<read_slashes>(after_opening(line), made);
    case time_format::syslog:
      return read_with<read_syslog>(after_opening(line), made);
    case time_format::ctime:
      return read_with<read_ctime>(after_opening(line), made);
    case time_format::rfc2822:
      return read_with<read_rfc2822>(after_opening(line), made);
    case time_format::glog:
      return read_with<read_glog>(after_opening(line), made);
    case time_format::epoch:
      return read_with<read_epoch>(after_opening(line), made);
    case time_format::us:
      return read_with<read_us>(after_opening(line), made);
    case time_format::dmy:
      return read_with<read_dmy>(after_opening(line), made);
    case time_format::mdy:
      return read_with<read_mdy>(after_opening(line), made);
    case time_format::json:
      break;
  }
  return false;
}

}  // namespace gpuhist::report::lines
