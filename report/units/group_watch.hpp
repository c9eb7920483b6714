// Checks conditions for windows of event time.
#pragma once

#include "report/conditions/watcher.hpp"
#include "report/measures/previous_baseline.hpp"
#include "report/units/group_result.hpp"
#include "report/units/unit_plan.hpp"

#include <optional>

namespace gpuhist::report::units {

/// Checks windows in the order of time, each compared with `measured.previous_windows` windows before it, if that is
/// given.
class event_window_watch {
 public:
  /// Borrows all. `list`: that of the checker. `values`: those of the plan; null: it has none.
  event_window_watch(const gates::watch_list& list, const measures::measuring& measured, gates::watcher& checker,
                     const watched_values* values);

  /// As gates::watcher::watch().
  bool watch(const event_window& closed);

  /// Of the next window; null: that of the run.
  [[nodiscard]] const measures::byte_counts* baseline() const { return previous_ ? previous_->get() : nullptr; }

 private:
  const gates::watch_list& list_;
  gates::watcher& checker_;
  const watched_values* values_;
  std::optional<measures::previous_baseline> previous_;
};

}  // namespace gpuhist::report::units
