// What a run tells while it lasts: snapshots, progress, status on a signal, inputs that are over, windows that closed.
#pragma once

#include "async/event_loop.hpp"
#include "async/semaphore.hpp"
#include "async/task.hpp"
#include "pipeline/counts/rolling_counts.hpp"
#include "pipeline/counts/run_counts.hpp"
#include "pipeline/flow/collector.hpp"
#include "pipeline/flow/feeder.hpp"
#include "pipeline/flow/run_hooks.hpp"
#include "pipeline/flow/run_plan.hpp"
#include "pipeline/flow/status_signal.hpp"
#include "pipeline/flow/window_publisher.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <optional>

namespace gpuhist::pipeline {

/// The run that is told of. The parts outlive the telling; the functions are called on the thread of its context.
struct notified_run {
  rolling_counts& counts;
  collector& collected;
  feeder& feeding;
  std::function<run_counts()> snapshot;
  std::function<run_progress()> progress;
  std::function<void()> end_by_hook;                       ///< a hook wants no more to be read
  std::function<void(const std::exception_ptr&)> failure;  ///< what a loop ended with, cancelling included; may be
                                                           ///< null; does not throw
};

/// Each kind is told by a loop of its own, all of them on the thread that runs the context. Hooks are called there.
class run_notifier {
 public:
  /// Throws std::system_error where the signal for the status cannot be watched.
  run_notifier(async::event_loop& loop, const run_plan& what, const run_hooks& hooks);

  /// Begins the loops. Once, before anything is read.
  void start(notified_run run);

  /// More was merged into the counts. Any thread.
  void note_merged();

  /// A window closed, or a verdict came. Any thread.
  void note_windows_changed() { windows_.note_changed(); }

  /// What the loops had no more time for, when nothing more comes: windows, and a snapshot that is due by its size. May
  /// throw what a hook throws.
  void publish_remaining();

  /// Inputs that ended since, and those that never did; `result` is the last report.
  void notify_remaining_inputs(const run_counts& result);

  /// Nobody takes windows any more, and what they hold up goes on.
  void discard_windows() { windows_.discard(); }

  /// Ends the loops.
  void cancel();

 private:
  void keep_running(async::task<> what);
  async::task<> flush_and_wait(async::wakeup& merged);
  async::task<> snapshots_by_time(std::chrono::milliseconds interval);
  async::task<> snapshots_by_size();
  void snapshot_if_due();
  [[nodiscard]] bool wants_snapshots() const { return plan_.snapshot_every || hooks_.counted_so_far; }
  void publish_snapshot();
  async::task<> progress_by_time();
  async::task<> status_by_signal();
  async::task<> inputs_as_they_end();
  async::task<> flushes_by_time();
  async::task<> kept_reports_by_time();
  void notify_finished_inputs();
  void end_by_hook();

  async::event_loop& loop_;
  const run_plan& plan_;
  const run_hooks& hooks_;
  std::optional<notified_run> run_;  // from start() on
  status_signal status_signal_;
  async::wakeup merged_for_snapshots_;  // one each: a word has one receiver
  async::wakeup merged_for_status_;
  async::wakeup merged_for_inputs_;
  window_publisher windows_;
  async::alarm snapshot_alarm_;
  async::alarm progress_alarm_;
  async::alarm flush_alarm_;
  async::alarm kept_alarm_;
  std::uint64_t snapshot_due_at_ = std::numeric_limits<std::uint64_t>::max();  // bytes merged
  std::size_t inputs_notified_ = 0;
  bool ended_by_hook_ = false;
};

}  // namespace gpuhist::pipeline
