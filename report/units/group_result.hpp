// The groups of a run as they are reported: by key, by window of time, and the lines that match.
#pragma once

#include "gpu/tally.hpp"
#include "pipeline/counts/input_report.hpp"
#include "report/units/group_sum.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gpuhist::report::units {

struct line_reading;
struct unit_plan;

/// Lines and bytes of lines in which an expression matches.
struct match_count {
  std::string name;
  std::uint64_t lines = 0;
  std::uint64_t bytes = 0;

  bool operator==(const match_count&) const = default;
};

/// The counts of a group.
struct group_counts {
  std::uint64_t lines = 0;
  std::uint64_t bytes = 0;
  gpu::tally counts{};  ///< over the partition of the plan; without groups over one class
  std::vector<match_count> matches{};
  std::uint64_t unmatched = 0;  ///< lines in which no expression matches
  std::uint64_t unmatched_bytes = 0;
  std::vector<std::optional<double>> quantiles{};  ///< of event windows: watched_values::numbers()
};

/// Adds the counts of lines of the same run.
void add(group_counts& to, const group_counts& more);

/// What conditions are about.
pipeline::observed_numbers numbers_of(const group_counts& found);

/// Lines with the same key.
struct keyed_group {
  std::string key;  ///< raw bytes
  group_counts of;
  std::string then{};  ///< the second key, if lines are grouped by two
};

/// Lines whose times are in a window.
struct event_window {
  std::int64_t start = 0;  ///< nanoseconds since 1970-01-01 UTC
  group_counts of;
  std::vector<std::uint64_t> lines_by_key{};  ///< of the reported groups, in their order; empty: too many numbers
};

struct group_result {
  group_counts all;  ///< of all lines

  std::optional<std::string> by{};             ///< the selector of the key, as typed
  std::optional<std::string> then_by{};        ///< that of the second key
  std::uint64_t number_of_groups = 0;          ///< different keys
  std::vector<keyed_group> groups{};           ///< those with the most lines, equal numbers in the order of the keys
  std::optional<group_counts> other_groups{};  ///< of keys that are not in `groups`
  std::optional<group_counts> without_key{};

  std::int64_t window = 0;                     ///< nanoseconds of a window; 0: lines are not grouped by time
  std::vector<event_window> windows{};         ///< with lines, in the order of time
  std::optional<group_counts> without_time{};  ///< before the first line with a time of their input
  std::optional<group_counts>
      implausible_time{};  ///< with a year that is not plausible, and the lines that follow them
};

/// An empty table for the groups of a plan. `classes`: of the partition of the plan.
group_table empty_table(const line_reading& plan, std::size_t classes);

/// An empty sum for the groups of a plan; without a key and windows it has one group, whose bytes are in one class.
/// Nothing: the plan reads nothing of lines. `classes`: of the partition of the plan.
std::optional<group_sum> no_groups(const unit_plan& plan, std::size_t classes);

/// Precondition: the plan reads lines, and the sum is one of it.
group_result group_result_of(const unit_plan& plan, const group_sum& found);

}  // namespace gpuhist::report::units
