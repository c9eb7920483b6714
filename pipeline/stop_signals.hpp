// SIGINT, SIGTERM and SIGHUP as a request to stop. The first is taken; after it the signals do again what they did by
// default, so that a second one ends the process at once, and takes the line of status with it. What the parent had
// ignored stays ignored.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include <stop_token>
#include <vector>

namespace gpuhist::pipeline {

/// Used on the thread that runs the context.
class stop_signals {
 public:
  stop_signals(boost::asio::io_context& context, bool watch, std::stop_source stop);
  stop_signals(const stop_signals&) = delete;
  stop_signals& operator=(const stop_signals&) = delete;
  ~stop_signals();  ///< what was watched ends the process at once from now on

  /// The signal that was taken, or 0.
  [[nodiscard]] int received() const { return received_; }

  /// Watches no more.
  void ignore();

 private:
  std::vector<int> watched_;
  boost::asio::signal_set signals_;
  std::stop_source stop_;
  int received_ = 0;
};

}  // namespace gpuhist::pipeline
