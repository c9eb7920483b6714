// Calls the hooks of a run while it lasts: for snapshots, progress, status on request, finished inputs, closed
// windows.
#pragma once

#include "async/event_loop.hpp"
#include "async/semaphore.hpp"
#include "async/task.hpp"
#include "pipeline/counts/rolling_counts.hpp"
#include "pipeline/counts/run_counts.hpp"
#include "pipeline/flow/collector.hpp"
#include "pipeline/flow/run_hooks.hpp"
#include "pipeline/flow/run_plan.hpp"
#include "pipeline/flow/text_feed.hpp"
#include "pipeline/flow/window_publisher.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <optional>

namespace gpuhist::pipeline {

/// What the notifier uses of the run. All outlive the notifier. The functions are called on the thread of
/// the event loop.
struct notified_run {
  rolling_counts& counts;
  collector& collected;
  text_feed& feeding;
  std::function<run_counts()> snapshot;
  std::function<run_progress()> progress;
  std::function<void()> end_by_hook;  ///< called when a hook ends the reading
  /// Called when one of the notifier's tasks ends, with its exception or null. Cancelled tasks have async::wait_ended.
  /// Does not throw.
  std::function<void(const std::exception_ptr&)> failure;
};

/// Each kind of notification has its own task. All tasks run on the thread of the event loop, which calls the hooks.
class run_notifier {
 public:
  run_notifier(async::event_loop& loop, const run_plan& plan, const run_hooks& hooks);

  /// Starts the tasks. Must be called once, before anything is read.
  void start(notified_run run);

  /// Chunks were merged into the counts. Any thread.
  void note_merged();

  /// A window closed, or a verdict was given. Any thread.
  void note_windows_changed() { windows_.note_changed(); }

  /// Publishes the windows that are left at the end of the run, and a snapshot if one is due by its size. Throws what a
  /// hook throws.
  void publish_remaining();

  /// Notifies of the inputs of the result that were not reported yet, finished or not.
  void notify_remaining_inputs(const run_counts& result);

  /// Drops all windows from now on, so that merging does not wait for them.
  void discard_windows() { windows_.discard(); }

  /// Ends the tasks.
  void cancel();

 private:
  void spawn(async::task<> task);
  async::task<> flush_and_wait(async::wakeup& merged);
  async::task<> snapshots_by_time(std::chrono::milliseconds interval);
  async::task<> snapshots_by_size();
  void snapshot_if_due();
  [[nodiscard]] bool wants_snapshots() const { return plan_.snapshot_every || hooks_.check_counts; }
  void publish_snapshot();
  async::task<> progress_by_time();
  async::task<> status_by_request();
  async::task<> inputs_as_they_finish();
  async::task<> inputs_as_they_complete();
  async::task<> flushes_by_time();
  async::task<> kept_reports_by_time();
  async::task<> prefixes_by_time();
  async::task<> clock_by_time();
  void notify_prefixes();
  void notify_finished_inputs();
  void notify_completed_inputs();
  bool windows_are_published();
  void notify_completed_inputs(std::size_t completed);
  void notify_incomplete_inputs();
  void end_by_hook();

  async::event_loop& loop_;
  const run_plan& plan_;
  const run_hooks& hooks_;
  std::optional<notified_run> run_;     // set by start()
  async::wakeup merged_for_snapshots_;  // one per task: a wakeup has one receiver
  async::wakeup merged_for_status_;
  async::wakeup merged_for_inputs_;
  async::wakeup merged_for_completions_;
  window_publisher windows_;
  async::alarm snapshot_alarm_;
  async::alarm progress_alarm_;
  async::alarm flush_alarm_;
  async::alarm kept_alarm_;
  async::alarm prefix_alarm_;
  async::alarm clock_alarm_;
  std::uint64_t snapshot_due_at_ = std::numeric_limits<std::uint64_t>::max();  // bytes merged
  std::size_t inputs_notified_ = 0;
  std::size_t completions_notified_ = 0;
  // With windows: completed inputs, and the events up to which their windows are.
  struct completions_due {
    std::size_t completed = 0;
    std::uint64_t events = 0;
  };
  std::optional<completions_due> due_;
  bool ended_by_hook_ = false;
};

}  // namespace gpuhist::pipeline
