// Memory that several tasks share: who wants more than is left waits, in order, until others give theirs back.
#pragma once

#include "pipeline/wakeup.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>

namespace gpuhist::pipeline {

/// Thread-safe. A task that holds some asks for more only after giving back what it has: then none waits for ever.
class memory_budget {
 public:
  memory_budget(std::uint64_t bytes, boost::asio::any_io_executor executor)
      : left_(bytes), executor_(std::move(executor)) {}

  /// Precondition: no more than the whole budget.
  boost::asio::awaitable<void> acquire(std::uint64_t bytes);
  void release(std::uint64_t bytes);

 private:
  struct waiter {
    std::uint64_t bytes = 0;
    std::shared_ptr<wakeup> granted;
  };

  std::mutex mutex_;
  std::uint64_t left_;
  std::deque<waiter> waiting_;
  boost::asio::any_io_executor executor_;
};

}  // namespace gpuhist::pipeline
