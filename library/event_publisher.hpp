// Calls the callbacks of a run: windows, verdicts, units, and the conditions that hold for windows, inputs and totals.
#pragma once

#include "gpuhist/options.hpp"
#include "gpuhist/results.hpp"
#include "io/descriptor.hpp"
#include "library/counting_plan.hpp"
#include "pipeline/counts/windows/window_events.hpp"
#include "pipeline/flow/run_hooks.hpp"
#include "report/conditions/watcher.hpp"
#include "report/measures/previous_baseline.hpp"
#include "report/units/group_watch.hpp"
#include "report/units/unit_result.hpp"

#include <cstddef>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <thread>
#include <utility>

namespace gpuhist::library {

/// A condition that holds, as the public interface has it.
alert alert_of(const report::gates::firing& fired);

/// The reverse of alert_of().
report::gates::firing firing_of(const alert& reported);

/// Forwards a stream to a callback: the run writes to a pipe, and a thread reads it. Used by one thread. The callback
/// is called on a thread of this object.
class callback_sink {
 public:
  /// Throws std::system_error if there is no pipe or no thread.
  explicit callback_sink(std::function<void(std::span<const std::byte>)> sink);
  callback_sink(const callback_sink&) = delete;
  callback_sink& operator=(const callback_sink&) = delete;
  /// As finish(), without the exception.
  ~callback_sink();

  /// The end of the pipe that is written.
  [[nodiscard]] int descriptor() const { return writing_.get(); }

  /// Waits until the callback has received everything that was written. Throws its exception: after one, the pipe has
  /// no reader.
  void finish();

 private:
  void forward() noexcept;

  std::function<void(std::span<const std::byte>)> sink_;
  io::descriptor reading_;
  io::descriptor writing_;
  std::exception_ptr failure_;
  std::thread thread_;
};

/// The schemes and measures of windows and units; without counts.
std::shared_ptr<const report::run_report> frame_of(const counting_plan& planned);

/// Used by the thread of the run, except call(). Memory: with previous_windows N, N times 2 KiB; with per_input, for
/// every open input.
class event_publisher {
 public:
  /// Borrows `planned`.
  event_publisher(const counting_plan& planned, counting_events events);

  /// Sets the hooks that the plan needs. They borrow this object.
  void connect(pipeline::run_hooks& to);

  /// Checks the conditions for an input that this run does not read.
  void watch(const pipeline::input_report& earlier);

  /// Checks the conditions for the totals of a run that no condition ended, and for its windows of event time, unless
  /// they closed during the run. `units`: of the run; null: none.
  void watch_totals(const pipeline::run_counts& result, const report::units::unit_result* units);

  /// Checks the conditions about matches for the totals so far. Returns whether the reading ends.
  bool watch_facts_so_far(const pipeline::run_counts& now, const report::units::unit_result& units);

  /// Checks the conditions for a window of event time that closes during the run.
  void watch(const report::units::event_window& closed);

  /// What a window of event time that closes now is compared with; null: as the run.
  [[nodiscard]] const report::measures::byte_counts* baseline_of_event_window() const {
    return event_watch_.baseline();
  }

  /// Whether windows of event time are reported when they close.
  [[nodiscard]] bool wants_event_windows() const { return static_cast<bool>(events_.on_event_window); }

  void publish(const report::units::closed_event_window& closed);

  /// Whether a condition ends the reading: of a window of event time.
  [[nodiscard]] bool must_end() const { return must_end_; }

  /// Whether units are reported.
  [[nodiscard]] bool wants_units() const { return static_cast<bool>(events_.on_unit); }

  void publish(std::span<const report::units::unit_record> found);

  /// Whether messages are reported.
  [[nodiscard]] bool wants_notices() const { return static_cast<bool>(events_.on_notice); }

  void notify(std::string_view text) { call(events_.on_notice, text); }
  void publish(const report::units::input_fault& found);

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
  [[nodiscard]] const report::run_report& frame() const { return *frame_; }

  /// The first exception of a callback; null: none has thrown. After the last call of one.
  [[nodiscard]] const std::exception_ptr& thrown() const { return thrown_; }

 private:
  bool publish(const pipeline::closed_window& closed);

  const counting_plan& plan_;
  const counting_events events_;
  report::gates::watcher watched_;
  std::shared_ptr<const report::run_report> frame_;  // what all windows share
  report::measures::window_baselines baselines_;
  report::units::event_window_watch event_watch_;
  bool must_end_ = false;
  std::mutex throwing_;
  std::exception_ptr thrown_;  // under the mutex
};

}  // namespace gpuhist::library
