// Tells the windows of a run as they close.
#pragma once

#include "async/event_loop.hpp"
#include "async/semaphore.hpp"
#include "async/task.hpp"
#include "pipeline/counts/windows/rolling_windows.hpp"
#include "pipeline/flow/collector.hpp"
#include "pipeline/flow/feeder.hpp"
#include "pipeline/flow/run_hooks.hpp"

#include <functional>
#include <optional>

namespace gpuhist::pipeline {

/// The windows and what works on them; all of it outlives the teller.
struct published_windows {
  rolling_windows& windows;
  collector& collected;  ///< held up by windows that nobody takes
  feeder& feeding;
  std::function<void()> end_by_hook;  ///< the hook wants no more to be read
};

/// Hooks are called on the thread that runs the context.
class window_publisher {
 public:
  window_publisher(async::event_loop& loop, const run_hooks& hooks);

  /// Before anything else but note_changed(). `keep_running` runs a loop for as long as the run lasts. Without a hook
  /// for windows they are discarded.
  void start(published_windows what, const std::function<void(async::task<>)>& keep_running);

  /// A window closed, a verdict came, or more was merged. Any thread.
  void note_changed();
  void note_merged() { changed_.notify(); }

  /// Those that are left when nothing more comes; what was not counted is told as such. May throw what a hook throws.
  void publish_remaining();

  /// Nobody takes windows any more, and what they hold up goes on.
  void discard();

  /// Ends the loops.
  void cancel();

 private:
  async::task<> publish_as_they_close();
  async::task<> flush_what_closed();
  async::task<> pass_time();
  void tell(const rolling_windows::record& what);

  const run_hooks& hooks_;
  std::optional<published_windows> told_;  // from start() on, where there are windows
  async::wakeup changed_;
  async::wakeup closed_;  // and there may be text of theirs in a slot
  async::alarm border_alarm_;
  async::alarm flush_alarm_;
};

}  // namespace gpuhist::pipeline
