// SIGINT, SIGTERM and SIGHUP. From the beginning of main they end the process as they do by default, but leave no
// temporary file and no line of status. While a run and its report last, the first one is kept as a request to stop.
// `timeout`, service managers and schedulers signal the process and then its group, so that the same request arrives
// twice: a repeat within a second changes nothing, a later one ends the process at once. SIGQUIT and other signals that
// end a process by default always do so at once, and leave no temporary file either. What the parent had ignored stays
// ignored.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <optional>
#include <stop_token>

namespace gpuhist::pipeline {

/// Sets the function that is called before a signal ends the process. It must be async-signal-safe. Null: none.
void clean_up_before_end(void (*clean_up)() noexcept);

/// To be called first in main: from here on a signal that ends the process cleans up before.
void end_by_stop_signals();

/// While one lives, the first signal is kept. Several may be nested; the outermost forgets what was kept before. Main
/// thread.
class kept_stop_signal {
 public:
  /// Throws std::system_error where there is no descriptor for the notification.
  kept_stop_signal();
  kept_stop_signal(const kept_stop_signal&) = delete;
  kept_stop_signal& operator=(const kept_stop_signal&) = delete;
  ~kept_stop_signal();  ///< of the last one: signals end the process again

  /// The signal, or 0.
  [[nodiscard]] static int received();

  /// Is readable once a signal was received. Stays open.
  [[nodiscard]] static int notification();
};

/// The same as a request to stop a run. Used on the thread that runs the context, which is the main thread.
class stop_signals {
 public:
  stop_signals(boost::asio::io_context& context, bool watch, std::stop_source stop);
  stop_signals(const stop_signals&) = delete;
  stop_signals& operator=(const stop_signals&) = delete;
  ~stop_signals();

  /// The signal that stopped the run, or 0.
  [[nodiscard]] int received() const { return received_; }

  /// Requests no stop any more.
  void ignore();

 private:
  void wait();

  std::optional<kept_stop_signal> kept_;
  std::optional<boost::asio::posix::stream_descriptor> notified_;
  std::stop_source stop_;
  int received_ = 0;
};

}  // namespace gpuhist::pipeline
