// SIGINT, SIGTERM and SIGHUP. From the beginning of main they end the process as by default, but remove temporary files
// and the line of status first. During a run and its report, the first signal only requests a stop. `timeout`, service
// managers and schedulers signal the process and then its group, so the same request arrives twice: a signal within a
// second after the first is ignored, a later one ends the process at once. SIGQUIT and other signals that end a process
// by default always do so at once, after the same clean-up. Signals that the parent ignored stay ignored.
#pragma once

#include "async/event_loop.hpp"
#include "async/semaphore.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <memory>
#include <optional>
#include <stop_token>

namespace gpuhist::command {

/// Sets the function that is called before a signal ends the process. It must be async-signal-safe; may be null.
void clean_up_before_end(void (*clean_up)() noexcept);

/// Installs the handlers, so that a signal cleans up before it ends the process. Must be called first in main.
void end_by_stop_signals();

/// While the object exists, the first signal is stored and does not end the process. The constructor clears an earlier
/// signal. One object at a time. Must be used on the main thread.
class kept_stop_signal {
 public:
  /// Throws std::system_error if there is no descriptor for the notification.
  kept_stop_signal();
  kept_stop_signal(const kept_stop_signal&) = delete;
  kept_stop_signal& operator=(const kept_stop_signal&) = delete;
  ~kept_stop_signal();  ///< signals end the process again

  /// The stored signal; 0: none.
  [[nodiscard]] static int received();

  /// A descriptor that is readable after a signal was received. It stays open.
  [[nodiscard]] static int notification();
};

// SIGUSR1 requests the status of a run. The signal is blocked in every thread and read from a descriptor, so that it
// interrupts no call and never ends the process.

/// Blocks SIGUSR1 in the calling thread and in all threads that it starts afterwards: the signal stays pending until it
/// is read. Does nothing if the parent ignored SIGUSR1. Programs that this process starts afterwards inherit the mask.
void hold_status_signal();

/// Forwards signals to a run while it exists: the first one requests the stop, SIGUSR1 the status. Must be used on the
/// thread that runs the loop, the main thread.
class signal_requests : public std::enable_shared_from_this<signal_requests> {
 public:
  /// Preconditions: a kept_stop_signal exists; hold_status_signal() was called before other threads were started.
  /// SIGUSR1 is not watched if the parent ignored it. Throws std::system_error.
  signal_requests(async::event_loop& loop, std::stop_source stop, std::shared_ptr<async::wakeup> status);
  signal_requests(const signal_requests&) = delete;
  signal_requests& operator=(const signal_requests&) = delete;
  ~signal_requests();

  void start();

 private:
  using descriptor = boost::asio::posix::stream_descriptor;

  void await_stop();
  void await_status();

  descriptor stop_notification_;
  std::optional<descriptor> status_signal_;  // a signalfd
  std::stop_source stop_;
  std::shared_ptr<async::wakeup> status_;
};

}  // namespace gpuhist::command
