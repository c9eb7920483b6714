// SIGUSR1 as the question how far a run has come. It is held back in every thread and read from a descriptor, so that
// it interrupts nothing and, whenever it comes, ends nothing.
#pragma once

#include "async/task.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <optional>

namespace gpuhist::pipeline {

/// Blocks SIGUSR1 in the calling thread, and so in every thread that it starts from here on: one that comes waits to be
/// read. Does nothing where the parent had SIGUSR1 ignored. Starting other programs is not for this process afterwards:
/// they would inherit the mask.
void hold_status_signal();

/// Used on the thread that runs the context.
class status_signal {
 public:
  /// `watch`: false, or a parent that had SIGUSR1 ignored, makes it a signal that never comes. Precondition where it is
  /// watched: hold_status_signal() was called before there were other threads. Throws std::system_error.
  status_signal(boost::asio::io_context& context, bool watch);

  [[nodiscard]] bool is_watched() const { return waiter_.has_value(); }

  /// Completes when the signal came; several that come together are one. Precondition: is_watched(). Throws
  /// async::wait_ended after cancel().
  async::task<> received();

  void cancel();

 private:
  std::optional<boost::asio::posix::stream_descriptor> waiter_;  // a signalfd
  bool is_cancelled_ = false;
};

}  // namespace gpuhist::pipeline
