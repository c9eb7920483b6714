// Calls the callbacks of a run: windows, verdicts, units, and the conditions that hold for windows, inputs and totals.
#pragma once

#include "gpuhist/options.hpp"
#include "library/counting_plan.hpp"
#include "pipeline/counts/windows/window_events.hpp"
#include "pipeline/flow/run_hooks.hpp"
#include "report/conditions/watcher.hpp"
#include "report/measures/previous_baseline.hpp"
#include "report/units/unit_result.hpp"

#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>

namespace gpuhist::pipeline {

/// The schemes and measures of windows and units; without counts.
std::shared_ptr<const report> frame_of(const counting_plan& planned);

/// Used by the thread of the run, except call(). Memory: with previous_windows N, N times 2 KiB; with per_input, for
/// every open input.
class event_publisher {
 public:
  /// Borrows `planned`.
  event_publisher(const counting_plan& planned, counting_events events);

  /// Sets the hooks that the plan needs. They borrow this object.
  void connect(run_hooks& to);

  /// Checks the conditions for an input that this run does not read.
  void watch(const input_report& earlier);

  /// Checks the conditions for the totals of a run that no condition ended.
  void watch_totals(const run_counts& result);

  /// Whether units are reported.
  [[nodiscard]] bool wants_units() const { return static_cast<bool>(events_.on_unit); }

  void publish(std::span<const units::unit_record> found);

  /// Whether messages are reported.
  [[nodiscard]] bool wants_notices() const { return static_cast<bool>(events_.on_notice); }

  void notify(std::string_view text) { call(events_.on_notice, text); }
  void publish(const units::lines_without_field& found);

  /// Whether a condition of fail_if held.
  [[nodiscard]] bool has_failed() const { return watched_.has_failed(); }

  /// Calls a callback of the caller. Its exception is kept, so that it is distinguished from those of the run. Any
  /// thread.
  template <typename Callback, typename... Arguments>
  void call(const Callback& callback, Arguments&&... arguments) {
    if (!callback) return;
    try {
      callback(std::forward<Arguments>(arguments)...);
    } catch (...) {
      const std::scoped_lock lock(throwing_);
      if (!thrown_) thrown_ = std::current_exception();
      throw;
    }
  }

  /// As frame_of().
  [[nodiscard]] const report& frame() const { return *frame_; }

  /// The first exception of a callback; null: none has thrown. After the last call of one.
  [[nodiscard]] const std::exception_ptr& thrown() const { return thrown_; }

 private:
  bool publish(const closed_window& closed);
  bool watch(const closed_window& closed, const measures::byte_counts* baseline);

  const counting_plan& plan_;
  const counting_events events_;
  gates::watcher watched_;
  std::shared_ptr<const report> frame_;  // what all windows share
  measures::window_baselines baselines_;
  std::mutex throwing_;
  std::exception_ptr thrown_;  // under the mutex
};

}  // namespace gpuhist::pipeline
