// Times in lines that are JSON objects. Internal to event_times.
#pragma once

#include "report/lines/event_time_formats.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

namespace gpuhist::report::lines {

/// A number of JSON as seconds, milliseconds, microseconds or nanoseconds since 1970 by its magnitude: below 1e11,
/// below 1e14, below 1e17, or more. Nothing: `text` is no such number. A negative number is a time before 1970.
std::optional<written_time> time_of_number(std::string_view text);

/// The time of a decoded string, or of a number as it is written.
std::optional<written_time> time_of_json_value(std::string_view value);

/// Whether a line looks like a JSON object: after white space, '{' and '"' or '}', perhaps with white space between.
bool looks_like_object(std::string_view line);

/// Reads one line after the other. One thread at a time; keeps its buffers, at most 10 times max_bytes.
class json_times {
 public:
  /// Longer lines are not parsed.
  static constexpr std::size_t max_bytes = std::size_t{1} << 20U;

  json_times();
  ~json_times();
  json_times(json_times&&) noexcept;
  json_times& operator=(json_times&&) noexcept;

  /// The time of the first of the keys timestamp, @timestamp, time, ts, t, date, in this order, that has one in the
  /// object of the line; the keys are compared as they are written. If the first member of the object is one of them
  /// and has a time, and no key that precedes it occurs in quotes in the line, the rest of the line is not read: it may
  /// be malformed or longer than max_bytes. Of any other line, the whole must be UTF-8 with strings that end; a member
  /// after an error is not found.
  std::optional<written_time> find_known(std::string_view line);

 private:
  struct parser;

  std::unique_ptr<parser> parser_;
};

}  // namespace gpuhist::report::lines
