// Calls the hooks for windows as they close.
#pragma once

#include "async/event_loop.hpp"
#include "async/semaphore.hpp"
#include "async/task.hpp"
#include "pipeline/counts/windows/rolling_windows.hpp"
#include "pipeline/flow/collector.hpp"
#include "pipeline/flow/run_hooks.hpp"
#include "pipeline/flow/text_feed.hpp"

#include <functional>
#include <optional>

namespace gpuhist::pipeline {

/// What the publisher uses of the run. All outlive the publisher.
struct published_windows {
  rolling_windows& windows;
  collector& collected;  ///< stops merging while too many windows wait
  text_feed& feeding;
  std::function<void()> end_by_hook;  ///< called when the hook ends the reading
};

/// Hooks are called on the thread of the event loop.
class window_publisher {
 public:
  window_publisher(async::event_loop& loop, const run_hooks& hooks);

  /// Must be called before any other member except note_changed(). `spawn` runs a task until the end of the run.
  /// Without a hook for windows, they are discarded.
  void start(published_windows run, const std::function<void(async::task<>)>& spawn);

  /// A window closed or a verdict was given. Any thread.
  void note_changed();

  /// Chunks were merged. Any thread.
  void note_merged() { changed_.notify(); }

  /// Publishes the windows that wait, now.
  void publish_ready();

  /// Whether windows are published.
  [[nodiscard]] bool is_used() const { return run_.has_value(); }

  /// Publishes all windows that are left at the end of the run, incomplete ones with an error. Throws what a hook
  /// throws.
  void publish_remaining();

  /// Drops all windows from now on, so that merging does not wait for them.
  void discard();

  /// Ends the tasks.
  void cancel();

 private:
  async::task<> publish_as_they_close();
  async::task<> flush_closed();
  async::task<> pass_time();
  void publish(const rolling_windows::record& record);

  const run_hooks& hooks_;
  std::optional<published_windows> run_;  // set by start() if there are windows
  async::wakeup changed_;                 // next() may return a window
  async::wakeup closed_;                  // text of a closed window may be in a slot that is not full
  async::alarm border_alarm_;
  async::alarm flush_alarm_;
};

}  // namespace gpuhist::pipeline
