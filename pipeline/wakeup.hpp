// A word from any thread to a coroutine that waits for it.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/experimental/concurrent_channel.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace gpuhist::pipeline {

/// Thread-safe. One coroutine waits; words that come before it is taken are one.
class wakeup {
 public:
  explicit wakeup(const boost::asio::any_io_executor& executor) : channel_(executor, 1) {}

  void notify() { channel_.try_send(boost::system::error_code{}); }

  /// Throws boost::system::system_error (channel_closed) after close().
  boost::asio::awaitable<void> wait() { return channel_.async_receive(boost::asio::use_awaitable); }

  void close() { channel_.close(); }

 private:
  boost::asio::experimental::concurrent_channel<void(boost::system::error_code)> channel_;
};

}  // namespace gpuhist::pipeline
