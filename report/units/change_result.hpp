// What changed in the logs of a run: groups of lines by log, kind and window (line_reading::finds_changes) as streams
// of changes::find_changes(), and its result with names, times and first lines.
#pragma once

#include "report/changes/change_finder.hpp"
#include "report/units/group_sum.hpp"
#include "report/units/unit_place.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gpuhist::report::units {

struct line_reading;

/// A line that a report shows.
struct shown_line {
  std::string input;  ///< its name, raw bytes
  unit_place place{};
  std::int64_t time = 0;  ///< as group_id::window
  std::string text{};     ///< its first bytes, raw
};

/// changes::difference, with its name.
struct found_difference {
  changes::difference of;
  std::string name{};  ///< of the kind, the level or the expression; empty: others

  [[nodiscard]] bool rises() const { return of.inside > of.before; }
};

/// changes::change, with its place.
struct found_change {
  std::string stream;        ///< the name of the logs without rotation, raw bytes
  std::int64_t start = 0;    ///< nanoseconds since 1970-01-01 UTC; of windows of lines the number of the first line
  std::int64_t end = 0;      ///< after the last window; as `start`
  bool lasts = false;        ///< to the end of the stream
  window_lengths windows{};  ///< of the stream
  double evidence = 0;
  std::vector<found_difference> differences{};  ///< what is more than before, then what is less, by evidence
  /// The first line concerned: of the kind, or of the log; if the kind vanished, one of the last window that has it.
  /// Nothing: there is none.
  std::optional<shown_line> line{};
  bool line_is_last_seen = false;
};

/// A stream of which most lines are in no window.
struct timeless_log {
  std::string name;
  std::uint64_t lines = 0;         ///< in windows
  std::uint64_t without_time = 0;  ///< in none
};

struct change_result {
  bool are_of_lines = false;  ///< windows of the whole run
  std::int64_t shortest = 0;  ///< window of a stream that was compared; 0: none was
  std::int64_t longest = 0;

  std::uint64_t streams = 0;             ///< logs that were compared
  std::uint64_t not_compared = 0;        ///< logs with fewer than 6 windows
  std::uint64_t lines = 0;               ///< in their windows
  std::vector<found_change> found{};     ///< strongest evidence first
  std::uint64_t streams_in_lines = 0;    ///< of the logs that were compared: those without times, in windows of lines
  std::uint64_t without_time = 0;        ///< lines that are in no window
  std::vector<timeless_log> timeless{};  ///< in the order of their names
};

/// Precondition: the plan finds changes, and the sum is one of it. Memory: the kinds with at least 10 lines. Throws
/// pipeline::spill_error, and std::runtime_error if there are too many windows.
change_result change_result_of(const line_reading& plan, const group_sum& found);

/// Replaces what was found of the streams without times by what was found of them in windows of lines.
void replace_timeless(change_result& to, change_result in_lines);

}  // namespace gpuhist::report::units
