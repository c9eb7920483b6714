// The parts of times in text: numbers, names of months, fractions, time zones. Internal to event_times.
#pragma once

#include "report/lines/event_time_formats.hpp"

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gpuhist::report::lines::time_text {

inline constexpr std::size_t anywhere_prefix = 256;  ///< a time that may be anywhere begins in so many bytes
inline constexpr std::int64_t day_seconds = 86'400;
inline constexpr std::int64_t hour_seconds = 3'600;
inline constexpr std::int64_t minute_seconds = 60;
inline constexpr unsigned some_leap_year = 2000;

inline bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }
inline bool is_letter(char byte) { return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z'); }
inline bool is_alphanumeric(char byte) { return is_digit(byte) || is_letter(byte); }
inline bool is_blank(char byte) { return byte == ' ' || byte == '\t'; }

/// Three letters in lower case as a number.
constexpr std::uint32_t packed(std::string_view three) {
  constexpr std::uint32_t lower_case = 0x202020;
  const auto byte = [three](std::size_t i) { return std::uint32_t{static_cast<std::uint8_t>(three[i])}; };
  return (byte(0) << 16U | byte(1) << 8U | byte(2)) | lower_case;
}

/// Names of three letters, found by a hash without collisions.
template <std::size_t size>
class name_table {
 public:
  explicit consteval name_table(const std::array<std::string_view, size>& names) {
    while (!fill(names)) factor_ += 2;
  }

  /// From 1; 0: there is no such name.
  [[nodiscard]] constexpr unsigned index_of(std::uint32_t name) const {
    const entry& found = entries_[slot_of(name)];
    return found.name == name ? found.index : 0;
  }

 private:
  struct entry {
    std::uint32_t name = 0;
    std::uint32_t index = 0;
  };

  [[nodiscard]] constexpr std::size_t slot_of(std::uint32_t name) const {
    constexpr unsigned shift = 27;
    return (name * factor_) >> shift;
  }

  constexpr bool fill(const std::array<std::string_view, size>& names) {
    entries_ = {};
    for (std::uint32_t i = 0; i < size; ++i) {
      entry& free = entries_[slot_of(packed(names[i]))];
      if (free.index != 0) return false;
      free = {.name = packed(names[i]), .index = i + 1};
    }
    return true;
  }

  std::uint32_t factor_ = 0x9e3779b1;
  std::array<entry, 32> entries_{};
};

inline constexpr name_table months(std::to_array<std::string_view>({"jan", "feb", "mar", "apr", "may", "jun", "jul",
                                                                    "aug", "sep", "oct", "nov", "dec"}));
inline constexpr name_table weekdays(std::to_array<std::string_view>({"mon", "tue", "wed", "thu", "fri", "sat",
                                                                      "sun"}));

inline bool is_leap(unsigned year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }

/// 28 to 31; 0: there is no such month.
inline unsigned days_in(unsigned year, unsigned month) {
  constexpr std::array<std::uint8_t, 13> lengths{0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (month >= lengths.size()) return 0;
  return lengths[month] + (month == 2 && is_leap(year) ? 1 : 0);
}

inline bool is_date(unsigned year, unsigned month, unsigned day) { return day >= 1 && day <= days_in(year, month); }

/// Days from 1970-01-01 to a date of the Gregorian calendar, of the years 0 to 9999.
inline std::int64_t days_of(unsigned year, unsigned month, unsigned day) {
  constexpr std::array<std::uint16_t, 12> before{0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
  constexpr std::int64_t days_to_1970 = 719'528;  // from 0000-01-01, of the year 0 that ISO 8601 has
  const unsigned leap_days = (year + 3) / 4 - (year + 99) / 100 + (year + 399) / 400;  // of the years before
  const unsigned of_year = before[month - 1] + (month > 2 && is_leap(year) ? 1 : 0) + day - 1;
  return std::int64_t{year * 365 + leap_days + of_year} - days_to_1970;
}

struct time_of_day {
  unsigned hour = 0;
  unsigned minute = 0;
  unsigned second = 0;
};

inline bool is_clock(const time_of_day& read) { return read.hour < 24 && read.minute < 60 && read.second <= 60; }

inline std::int64_t seconds_of(const time_of_day& read) {
  return read.hour * hour_seconds + read.minute * minute_seconds + read.second;
}

/// Reads a text from its beginning. What does not match is not consumed.
class cursor {
 public:
  explicit cursor(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(end_ - at_); }
  [[nodiscard]] char peek(std::size_t ahead = 0) const { return ahead < size() ? at_[ahead] : '\0'; }
  [[nodiscard]] std::string_view rest() const { return {at_, size()}; }
  [[nodiscard]] bool is_at_word() const { return is_alphanumeric(peek()); }

  void advance(std::size_t bytes) { at_ += bytes; }

  bool skip(char byte) {
    if (at_ == end_ || *at_ != byte) return false;
    ++at_;
    return true;
  }

  bool skip_any(std::same_as<char> auto... bytes) {
    if (at_ == end_ || !((*at_ == bytes) || ...)) return false;
    ++at_;
    return true;
  }

  bool skip_blanks() {
    const char* const begin = at_;
    while (at_ != end_ && is_blank(*at_)) ++at_;
    return at_ != begin;
  }

  // A number of `least` to `most` digits, at most 9; the digits after it are not looked at.
  bool number(unsigned& made, std::size_t least, std::size_t most) {
    const std::size_t limit = std::min(most, size());
    std::size_t length = 0;
    unsigned value = 0;
    for (; length < limit && is_digit(at_[length]); ++length)
      value = 10 * value + static_cast<unsigned>(at_[length] - '0');
    if (length < least) return false;
    made = value;
    at_ += length;
    return true;
  }

  bool two(unsigned& made) {
    if (size() < 2 || !is_digit(at_[0]) || !is_digit(at_[1])) return false;
    made = 10 * static_cast<unsigned>(at_[0] - '0') + static_cast<unsigned>(at_[1] - '0');
    at_ += 2;
    return true;
  }

  bool four(unsigned& made) {
    cursor ahead = *this;
    unsigned high = 0;
    unsigned low = 0;
    if (!ahead.two(high) || !ahead.two(low)) return false;
    made = 100 * high + low;
    *this = ahead;
    return true;
  }

  // One or two digits; the first may be a blank.
  bool day(unsigned& made) {
    if (peek() == ' ' && is_digit(peek(1)) && !is_digit(peek(2))) ++at_;
    return number(made, 1, 2);
  }

  // Index in `names`, from 1.
  template <std::size_t length>
  bool name(unsigned& made, const name_table<length>& names) {
    if (size() < 3) return false;
    made = names.index_of(packed({at_, 3}));
    if (made == 0) return false;
    at_ += 3;
    return true;
  }

  // The digits of a fraction of a second; those after the ninth are cut.
  bool fraction(std::uint32_t& nanoseconds) {
    constexpr std::array<std::uint32_t, 9> scales{100'000'000, 10'000'000, 1'000'000, 100'000, 10'000,
                                                  1'000,       100,        10,        1};
    const std::size_t limit = std::min(scales.size(), size());
    std::size_t digits = 0;
    std::uint32_t value = 0;
    for (; digits < limit && is_digit(at_[digits]); ++digits) {
      value += static_cast<std::uint32_t>(at_[digits] - '0') * scales[digits];
    }
    if (digits == 0) return false;
    at_ += digits;
    while (at_ != end_ && is_digit(*at_)) ++at_;
    nanoseconds = value;
    return true;
  }

 private:
  const char* at_;
  const char* end_;
};

/// `marks`: before a fraction.
inline void read_fraction_if_any(cursor& text, written_time& made, std::same_as<char> auto... marks) {
  if (!is_digit(text.peek(1)) || !text.skip_any(marks...)) return;
  text.fraction(made.nanoseconds);
}

/// "+02:00", "+0200", and if `is_short` is allowed "+02", each before a byte that is no letter or digit.
inline bool read_offset(cursor& text, written_time& made, bool is_short) {
  cursor ahead = text;
  const bool is_west = ahead.peek() == '-';
  unsigned hours = 0;
  unsigned minutes = 0;
  if (!ahead.skip_any('+', '-') || !ahead.two(hours)) return false;
  cursor after_minutes = ahead;
  after_minutes.skip(':');
  if (after_minutes.two(minutes)) {
    ahead = after_minutes;
  } else if (!is_short) {
    return false;
  }
  if (hours >= 24 || minutes >= 60 || ahead.is_at_word()) return false;
  const auto east = static_cast<std::int32_t>(hours * hour_seconds + minutes * minute_seconds);
  made.set_offset(is_west ? -east : east);
  text = ahead;
  return true;
}

/// "UTC", "GMT" or "Z", each perhaps with an offset ("GMT+0200").
inline bool read_zone_name(cursor& text, written_time& made) {
  cursor ahead = text;
  const std::string_view rest = ahead.rest();
  if (rest.starts_with("UTC") || rest.starts_with("GMT")) {
    ahead.advance(3);
  } else if (!ahead.skip_any('Z', 'z')) {
    return false;
  }
  if (ahead.is_at_word()) return false;
  if (!read_offset(ahead, made, false)) made.set_offset(0);
  text = ahead;
  return true;
}

inline void read_zone_if_any(cursor& text, written_time& made) {
  if (text.size() == 0) return;
  if (text.peek() == ' ') {
    cursor ahead = text;
    ahead.advance(1);
    if (read_offset(ahead, made, false) || read_zone_name(ahead, made)) text = ahead;
    return;
  }
  if (!read_offset(text, made, true)) read_zone_name(text, made);
}

/// "13:55:36", before a byte that is no digit.
inline bool read_clock(cursor& text, time_of_day& made) {
  return text.two(made.hour) && text.skip(':') && text.two(made.minute) && text.skip(':') && text.two(made.second) &&
         !is_digit(text.peek()) && is_clock(made);
}

struct calendar_date {
  unsigned year = 0;
  unsigned month = 0;
  unsigned day = 0;
};

inline bool set_time(written_time& made, const calendar_date& day, const time_of_day& time) {
  if (!is_date(day.year, day.month, day.day)) return false;
  made.seconds = days_of(day.year, day.month, day.day) * day_seconds + seconds_of(time);
  return true;
}

inline bool set_time_without_year(written_time& made, const calendar_date& day, const time_of_day& time) {
  if (!is_date(some_leap_year, day.month, day.day)) return false;
  made.has_year = false;
  made.month = static_cast<std::uint8_t>(day.month);
  made.day = static_cast<std::uint8_t>(day.day);
  made.seconds = seconds_of(time);
  return true;
}

}  // namespace gpuhist::report::lines::time_text
