// Patterns of times that are given by the user, in the notation of strptime. Internal to event_times.
#pragma once

#include "report/lines/event_time_formats.hpp"

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace gpuhist::report::lines {

/// A pattern with '%', compiled. Immutable: any thread may use it.
///
/// Numbers may lack leading zeros, except %Y (four digits) and %y (two: 69 to 99 are of the 20th century). Names of
/// months and weekdays are English, short or full, in upper or lower case. %f is a fraction of a second, of any number
/// of digits; those after the ninth are cut. %z is Z, +02, +0200 or +02:00; %Z is a word, of which UTC, GMT and Z are
/// applied and all others skipped. %s is seconds since 1970. A blank matches one or more blanks and tabs. What follows
/// the time is not looked at.
class time_pattern {
 public:
  /// Throws config::usage_error, which names the construct, if it is unknown, or if the pattern does not state a day.
  explicit time_pattern(std::string_view typed);

  /// The time at the beginning of the line or, if the pattern begins with '*', the first one that begins in its first
  /// 256 bytes.
  [[nodiscard]] std::optional<written_time> find(std::string_view line) const;

 private:
  struct step {
    char directive = '\0';  // the byte after '%'; ' ': blanks; '\0': a literal
    char literal = '\0';
  };

  void add(char byte);
  void add_directive(std::string_view typed, std::size_t at);
  void check(std::string_view typed) const;
  [[nodiscard]] bool has(std::string_view any_of) const;
  [[nodiscard]] std::optional<written_time> read(std::string_view from) const;

  std::vector<step> steps_;
  bool is_anywhere_ = false;
};

}  // namespace gpuhist::report::lines
