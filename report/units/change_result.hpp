// What changed in the logs of a run, or differs between those of two runs: groups of lines by log, kind and window
// (line_reading::finds_changes) as streams of changes::find_changes(), and its result with names, times and first
// lines.
#pragma once

#include "report/changes/change_finder.hpp"
#include "report/units/group_sum.hpp"
#include "report/units/unit_place.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gpuhist::report::units {

struct line_reading;

/// Kinds with fewer lines are not compared one by one.
inline constexpr std::uint64_t fewest_lines_of_kind = 10;

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
  std::string stream;        ///< the name of the logs without rotation, raw bytes; of a comparison within the sides
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

/// A log that only one side of a comparison has.
struct lone_log {
  std::string name;  ///< without rotation and the folder of the side, raw bytes
  std::uint64_t lines = 0;
};

/// A side of a comparison.
struct compared_side {
  std::string name;                   ///< as typed: a file, a folder, an archive or "-"
  std::uint64_t lines = 0;            ///< of all its logs
  std::vector<lone_log> only_here{};  ///< in the order of their names
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

  std::vector<compared_side> sides{};  ///< two, of which the second is compared with the first; none: there is one
  std::uint64_t by_counts_alone = 0;   ///< of the logs that were compared: those of which it is unknown how they vary

  [[nodiscard]] bool is_comparison() const { return !sides.empty(); }
  /// Whether anything is to be reported.
  [[nodiscard]] bool has_findings() const;
};

/// Precondition: the plan finds changes, and the sum is one of it. Memory: the kinds with at least 10 lines. Throws
/// pipeline::spill_error, and std::runtime_error if there are too many windows.
change_result change_result_of(const line_reading& plan, const group_sum& found);

/// The lines of a side of a comparison.
struct side_counts {
  std::string name;  ///< as compared_side::name
  const group_sum* counts = nullptr;
};

/// How the second one differs from the first one. Logs with the same name are compared; if each side has one log, these
/// two. As above.
change_result difference_of(const line_reading& plan, const std::array<side_counts, 2>& sides);

/// The differences of streams whose sides (changes::log_stream::compared_from) have no lines that could be shown.
/// Returns them as `found` of a comparison.
std::vector<found_change> differences_of(const std::vector<changes::log_stream>& streams);

/// Replaces what was found of the streams without times by what was found of them in windows of lines.
void replace_timeless(change_result& to, change_result in_lines);

}  // namespace gpuhist::report::units
