// The groups of a run as they are reported: by key, by window of time, and the lines that match.
#pragma once

#include "gpu/tally.hpp"
#include "pipeline/counts/input_report.hpp"
#include "report/lines/match_set.hpp"
#include "report/units/distribution.hpp"
#include "report/units/group_key.hpp"
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
  std::vector<value_summary> values{};  ///< of groups and windows: by formula of group_result; empty: not summed up
};

/// Adds the counts of lines that were read alike.
void add(group_counts& to, const group_counts& more);

/// What conditions are about, except values.
pipeline::observed_numbers numbers_of(const group_counts& found);

/// Lines with the same key.
struct keyed_group {
  std::string key;  ///< raw bytes
  group_counts of;
  std::string then{};  ///< the second key, if lines are grouped by two
  /// Of added results and approximate groups: the counts lack lines that are among other groups, and there are at most
  /// so many lines with this key. Nothing: the counts are exact.
  std::optional<std::uint64_t> lines_at_most{};
};

/// Lines whose times are in a window.
struct event_window {
  std::int64_t start = 0;  ///< nanoseconds since 1970-01-01 UTC
  group_counts of;
  std::vector<std::uint64_t> lines_by_key{};  ///< of the reported groups, in their order; empty: too many numbers
  std::vector<std::optional<pipeline::observed_line>> first_lines{};  ///< matched_lines::in_window()
};

/// What the names of matches and of keys do not determine.
struct line_terms {
  std::vector<lines::match_expression> expressions{};  ///< as typed; of older results none
  bool ignores_case = false;                           ///< the expressions do
  bool first_match_only = false;                       ///< a line counts only for the first expression that matches
  std::string field_separator{};                       ///< of keys, as typed
};

struct group_result {
  group_counts all;                     ///< of all lines
  line_terms terms{};                   ///< by which they were read
  std::vector<std::string> formulas{};  ///< of group_counts::values, as typed
  bool has_distribution = false;        ///< the first formula is that of the distribution

  std::optional<std::string> by{};       ///< the selector of the key, as typed
  std::optional<std::string> then_by{};  ///< that of the second key
  std::uint64_t number_of_groups = 0;    ///< different keys
  bool number_is_least = false;          ///< of added results: there may be more
  /// Of approximate groups: the number is an estimate with this standard error.
  std::optional<std::uint64_t> number_error{};
  std::vector<keyed_group> groups{};           ///< those with the most lines, equal numbers in the order of the keys
  std::optional<group_counts> other_groups{};  ///< of keys that are not in `groups`, and what `groups` lack
  /// Of added results and approximate groups: a key that is not in `groups` has at most so many lines. Nothing: as the
  /// last of `groups`.
  std::optional<std::uint64_t> other_group_at_most{};
  std::optional<group_counts> without_key{};

  /// Whether the numbers of lines of groups are numbers of characters.
  [[nodiscard]] bool counts_characters() const { return by && then_by.value_or(*by) == key_of_characters; }

  std::int64_t window = 0;                     ///< nanoseconds of a window; 0: lines are not grouped by time
  std::vector<event_window> windows{};         ///< with lines, in the order of time
  std::optional<group_counts> without_time{};  ///< before the first line with a time of their input
  std::optional<group_counts>
      implausible_time{};              ///< with a year that is not plausible, and the lines that follow them
  std::optional<group_counts> late{};  ///< of windows that had closed before
  bool has_reported_windows = false;   ///< windows closed, were reported, and are not in `windows`

  /// The values of the distribution in a group or window; null: there is none.
  [[nodiscard]] const value_summary* distribution_in(const group_counts& of) const {
    return has_distribution && !of.values.empty() ? of.values.data() : nullptr;
  }
};

/// Numbers of lines by window and group: more are left out of a result.
inline constexpr std::size_t most_cells = std::size_t{1} << 22U;

/// An empty table for the groups of a plan. `classes`: of the partition of the plan.
group_table empty_table(const line_reading& plan, std::size_t classes);

/// Of the groups of a plan. Approximate ones need half of the memory while groups are removed.
group_sum::limits limits_of(const line_reading& plan);

/// An empty sum for the groups of a plan; without a key and windows it has one group, whose bytes are in one class.
/// Nothing: the plan reads nothing of lines. `classes`: of the partition of the plan.
std::optional<group_sum> no_groups(const unit_plan& plan, std::size_t classes);

/// A window that has closed.
struct closed_event_window {
  group_result of;         ///< of the lines in it; it has this window alone
  bool is_at_end = false;  ///< of the run: more lines may belong to it
};

/// Precondition: the plan reads lines, and the sum is one of it. `values`: of formulas in the groups (group_values);
/// null: they are not summed up.
group_result group_result_of(const unit_plan& plan, const group_sum& found, const group_sum* values = nullptr);

}  // namespace gpuhist::report::units
