// SIGUSR1 requests the status of a run. The signal is blocked in every thread and read from a descriptor, so that it
// interrupts no call and never ends the process.
#pragma once

#include "async/task.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <optional>

namespace gpuhist::pipeline {

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
