// SIGINT, SIGTERM and SIGHUP. From the beginning of main they end the process as by default, but remove temporary files
// and the line of status first. During a run and its report, the first signal only requests a stop. `timeout`, service
// managers and schedulers signal the process and then its group, so the same request arrives twice: a signal within a
// second after the first is ignored, a later one ends the process at once. SIGQUIT and other signals that end a process
// by default always do so at once, after the same clean-up. Signals that the parent ignored stay ignored.
#pragma once

#include "async/task.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <optional>
#include <stop_token>

namespace gpuhist::pipeline {

/// Sets the function that is called before a signal ends the process. It must be async-signal-safe; may be null.
void clean_up_before_end(void (*clean_up)() noexcept);

/// Installs the handlers, so that a signal cleans up before it ends the process. Must be called first in main.
void end_by_stop_signals();

/// While an object exists, the first signal is stored and does not end the process. Objects may be nested; the
/// outermost constructor clears an earlier signal. Must be used on the main thread.
class kept_stop_signal {
 public:
  /// Throws std::system_error if there is no descriptor for the notification.
  kept_stop_signal();
  kept_stop_signal(const kept_stop_signal&) = delete;
  kept_stop_signal& operator=(const kept_stop_signal&) = delete;
  ~kept_stop_signal();  ///< of the outermost object: signals end the process again

  /// The stored signal; 0: none.
  [[nodiscard]] static int received();

  /// A descriptor that is readable after a signal was received. It stays open.
  [[nodiscard]] static int notification();
};

/// Requests the stop of a run on the first signal. Must be used on the thread that runs the context, the main thread.
class stop_signals {
 public:
  stop_signals(boost::asio::io_context& context, bool watch, std::stop_source stop);
  stop_signals(const stop_signals&) = delete;
  stop_signals& operator=(const stop_signals&) = delete;
  ~stop_signals();

  /// The signal that stopped the run; 0: none.
  [[nodiscard]] int received() const { return received_; }

  /// Stops requesting stops.
  void ignore();

 private:
  void wait();

  std::optional<kept_stop_signal> kept_;
  std::optional<boost::asio::posix::stream_descriptor> notified_;
  std::stop_source stop_;
  int received_ = 0;
};

// SIGUSR1 requests the status of a run. The signal is blocked in every thread and read from a descriptor, so that it
// interrupts no call and never ends the process.

/// Blocks SIGUSR1 in the calling thread and in all threads that it starts afterwards: the signal stays pending until it
/// is read. Does nothing if the parent ignored SIGUSR1. Programs that this process starts afterwards inherit the mask.
void hold_status_signal();

/// Must be used on the thread that runs the context.
class status_signal {
 public:
  /// The signal is watched if `watch` is true and the parent did not ignore SIGUSR1. Precondition, if it is watched:
  /// hold_status_signal() was called before other threads were started. Throws std::system_error.
  status_signal(boost::asio::io_context& context, bool watch);

  [[nodiscard]] bool is_watched() const { return waiter_.has_value(); }

  /// Completes when the signal was received; several pending signals count as one. Precondition: is_watched(). Throws
  /// async::wait_ended after cancel().
  async::task<> received();

  void cancel();

 private:
  std::optional<boost::asio::posix::stream_descriptor> waiter_;  // a signalfd
  bool is_cancelled_ = false;
};

}  // namespace gpuhist::pipeline
