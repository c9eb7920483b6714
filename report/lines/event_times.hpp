// The time that a line of a log states: when the event happened that the line is about.
//
//     2025-10-10T13:55:36.5Z job started                            1760104536500000000
//     192.0.2.1 - - [10/Oct/2025:13:55:36 -0700] "GET / HTTP/1.1"   1760129736000000000
//       at java.base/java.lang.Thread.run(Thread.java:833)          none
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace gpuhist::report::lines {

/// What to look for, as typed.
struct event_time_options {
  /// Empty: every format of event_time_formats(). Its name: only that one. "json:KEY": the value of this key of the
  /// object of a line. "json:/a/b": the value at this JSON Pointer (RFC 6901); a key that begins with '/' is written
  /// "json:/~1key". A text with '%': a pattern in the notation of strptime, with the directives
  /// %Y %y %m %b %d %e %a %j %H %I %p %M %S %f (fraction) %z %Z %s %T %F %%; if '*' precedes it, anywhere in the first
  /// 256 bytes, otherwise at the beginning.
  std::string format{};
  /// Of times that are written without an offset: an IANA name; empty: UTC.
  std::string time_zone{};
};

/// A format, for help.
struct event_time_format {
  std::string_view name;
  std::string_view example;
};

/// All formats. Reading tries them in this order of priority:
///
/// 1. json, if the line looks like a JSON object; no other format is tried then.
/// 2. Those at the beginning of the line: slashes, us, dmy, mdy, epoch, dmesg, syslog, ctime, rfc2822, glog. They
/// exclude
///    each other: they differ in the number of digits before the first other byte, or in their first four bytes.
/// 3. Of iso (in the first 64 bytes) and clf (in the first 256), the time that begins first. One of iso at the
/// beginning
///    of the line matches none of 2.
std::span<const event_time_format> event_time_formats();

/// What to look for, resolved. Immutable: any thread may use it.
class event_times {
 public:
  /// Throws config::usage_error: unknown name of a format, malformed pattern or JSON Pointer, unknown time zone. Loads
  /// the time zone from the database of the system.
  explicit event_times(const event_time_options& typed);
  ~event_times();
  event_times(event_times&&) noexcept;
  event_times& operator=(event_times&&) noexcept;

 private:
  friend class event_time_reader;
  struct rules;

  std::unique_ptr<const rules> rules_;
};

/// Reads one line after the other. One thread at a time.
///
/// The result is a function of the line, the settings and the reference alone. It does not depend on lines read before:
/// readers that begin at any line of a file, in any order, agree. A reader keeps only the offset of the time zone for
/// the stretch of time of the last line, the minute of the last time of the format iso with the text that states it,
/// and buffers of JSON; no format is assumed because the last line had it.
class event_time_reader {
 public:
  /// Borrows `settings`. `reference`: nanoseconds since 1970-01-01 UTC, usually the last change of the file; 0:
  /// unknown. A time without year is of the year that makes it the latest time not after the reference and one day; it
  /// is implausible if the reference is unknown.
  event_time_reader(const event_times& settings, std::int64_t reference);
  ~event_time_reader();
  event_time_reader(event_time_reader&&) noexcept;
  event_time_reader& operator=(event_time_reader&&) noexcept;

  /// For the next lines.
  void set_reference(std::int64_t reference);

  enum class kind : std::uint8_t {
    none,  ///< no time is recognised; also if it is no date, such as 2025-02-30, or no time of day, such as 24:00:00
    time,  ///< the line has one
    implausible  ///< before 1970, after 2261, or more than 3653 days after the reference
  };
  struct outcome {
    kind is = kind::none;
    std::int64_t nanoseconds = 0;  ///< since 1970-01-01 UTC; 0 unless `is` is time
  };

  /// `line`: without its line feed; may end with '\r'; any bytes.
  ///
  /// - Second 60 is accepted in any minute and counts as the first second of the next one: 23:59:60.5 is 00:00:00.5.
  /// - The offset is used as it is written: Z, UTC, GMT, +02, +0200, +02:00. Another name of a zone (CEST, PST) is
  ///   skipped, as if there were none. Without offset, the time is of event_time_options::time_zone: a local time that
  ///   occurs twice is the earlier one, one that is skipped is moved forward as the clock was (02:30 becomes 03:30).
  ///   After 2037, the offset is the last one that the database lists: the library does not apply rules beyond it.
  /// - A fraction has any number of digits; those after the ninth are cut.
  /// - dmesg counts seconds since the start of the system, which a line does not state; they are taken as seconds since
  ///   1970.
  /// - JSON: of the keys timestamp, @timestamp, time, ts, t and date of the outermost object, the first in this order
  ///   whose value is a time. A string is a time in any format but json, a number counts seconds (below 1e11),
  ///   milliseconds (below 1e14), microseconds (below 1e17) or nanoseconds since 1970. Lines of more than 1 MiB have a
  ///   time only if it is in the first member.
  ///
  /// Throws std::bad_alloc.
  outcome read(std::string_view line);

  /// Index into event_time_formats() of the last line that had a time, also an implausible one; nothing: no line had,
  /// or times are read by a pattern.
  [[nodiscard]] std::optional<std::size_t> last_format() const;

 private:
  struct state;

  std::unique_ptr<state> state_;
};

}  // namespace gpuhist::report::lines
