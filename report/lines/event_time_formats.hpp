// The formats of times in lines of logs: recognise a time and state what was written, before time zones are applied.
// Internal to event_times.
#pragma once

#include <cstdint>
#include <string_view>

namespace gpuhist::report::lines {

/// A time as it is written.
struct written_time {
  /// Since 1970-01-01 00:00:00 of the clock that was read; of a time without year, since the midnight before it. Second
  /// 60 is the first of the next minute.
  std::int64_t seconds = 0;
  std::uint32_t nanoseconds = 0;
  std::int32_t offset = 0;  ///< of the clock, seconds east of UTC
  bool has_offset = false;
  bool has_year = true;
  std::uint8_t month = 0;  ///< 1 to 12; only of a time without year
  std::uint8_t day = 0;    ///< 1 to 31, valid in a leap year; only of a time without year

  void set_offset(std::int32_t seconds_east) {
    offset = seconds_east;
    has_offset = true;
  }
};

/// The formats, as event_time_formats() lists them.
enum class time_format : std::uint8_t {
  iso,
  slashes,
  clf,
  syslog,
  ctime,
  rfc2822,
  glog,
  dmesg,
  epoch,
  us,
  dmy,
  mdy,
  json
};

/// A time and its format.
struct found_time {
  written_time time{};
  time_format format = time_format::iso;
};

/// The time of a line in any format but json. False: there is none. Written in place, because a copy of what was just
/// written costs as much as to read a date. Of the formats that are read at the beginning of the line, at most one
/// matches: they differ in the number of digits before the first other byte, or in their first four bytes. A match of
/// these precedes one of clf and iso, which may be elsewhere; of those two, the time that begins first is taken.
bool find_any_time(std::string_view line, found_time& made);

/// The time of the format iso, in its extended form, with which a line begins. False: there is none.
bool find_iso_at_beginning(std::string_view line, written_time& made);

/// The time of a line in one format; not json. False: there is none.
bool find_time(std::string_view line, time_format format, written_time& made);

}  // namespace gpuhist::report::lines
