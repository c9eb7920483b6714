// Tells the windows of a run as they close.
#pragma once

#include "pipeline/collector.hpp"
#include "pipeline/feeder.hpp"
#include "pipeline/run_hooks.hpp"
#include "pipeline/wakeup.hpp"
#include "pipeline/windows/rolling_windows.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <optional>

namespace gpuhist::pipeline {

/// The windows and what works on them; all of it outlives the teller.
struct told_windows {
  rolling_windows& windows;
  collector& collected;  ///< held up by windows that nobody takes
  feeder& feeding;
  std::function<void()> end_by_hook;  ///< the hook wants no more to be read
};

/// Hooks are called on the thread that runs the context.
class window_teller {
 public:
  window_teller(boost::asio::io_context& context, const run_hooks& hooks);

  /// Before anything else but note_changed(). `keep_up` runs a loop for as long as the run lasts. Without a hook for
  /// windows they are discarded.
  void start(told_windows what, const std::function<void(boost::asio::awaitable<void>)>& keep_up);

  /// A window closed, a verdict came, or more was merged. Any thread.
  void note_changed();
  void note_merged() { changed_.notify(); }

  /// Those that are left when nothing more comes; what was not counted is told as such. May throw what a hook throws.
  void tell_last();

  /// Nobody takes windows any more, and what they hold up goes on.
  void discard();

  /// Ends the loops.
  void cancel();

 private:
  boost::asio::awaitable<void> tell_as_they_close();
  boost::asio::awaitable<void> flush_what_closed();
  boost::asio::awaitable<void> pass_time();
  void tell(const rolling_windows::record& what);

  const run_hooks& hooks_;
  std::optional<told_windows> told_;  // from start() on, where there are windows
  wakeup changed_;
  wakeup closed_;  // and there may be text of theirs in a slot
  boost::asio::steady_timer border_timer_;
  boost::asio::steady_timer flush_timer_;
};

}  // namespace gpuhist::pipeline
