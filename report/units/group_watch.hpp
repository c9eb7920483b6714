// Checks conditions for windows of event time and, if they are about matches, for the totals.
#pragma once

#include "report/conditions/watcher.hpp"
#include "report/measures/previous_baseline.hpp"
#include "report/units/group_result.hpp"

#include <optional>
#include <vector>

namespace gpuhist::report::units {

/// The values of facts for a group: the lines that match. Of numbers it has none.
std::vector<double> facts_of(const group_counts& of, const std::vector<gates::line_fact>& facts);

/// Checks windows in the order of time, each compared with `measured.previous_windows` windows before it, if that is
/// given.
class event_window_watch {
 public:
  /// Borrows both, and `list`: that of the checker.
  event_window_watch(const gates::watch_list& list, const measures::measuring& measured, gates::watcher& checker);

  /// As gates::watcher::watch().
  bool watch(const event_window& closed);

  /// Of the next window; null: that of the run.
  [[nodiscard]] const measures::byte_counts* baseline() const { return previous_ ? previous_->get() : nullptr; }

 private:
  const gates::watch_list& list_;
  gates::watcher& checker_;
  std::optional<measures::previous_baseline> previous_;
};

/// Checks the totals for conditions about matches. `totals`: of the run. `list`: that of the checker. Returns whether
/// the run must end.
bool watch_matches(const group_result& found, const pipeline::run_counts& totals, const gates::watch_list& list,
                   gates::watcher& checker);

}  // namespace gpuhist::report::units
