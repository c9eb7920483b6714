#include "pipeline/decoding/memory_budget.hpp"

#include <boost/asio/use_awaitable.hpp>

namespace gpuhist::pipeline {

boost::asio::awaitable<void> memory_budget::acquire(std::uint64_t bytes) {
  std::shared_ptr<signal> granted;
  {
    const std::scoped_lock lock(mutex_);
    if (waiting_.empty() && bytes <= left_) {
      left_ -= bytes;
      co_return;
    }
    granted = std::make_shared<signal>(executor_, 1);
    waiting_.push_back({.bytes = bytes, .granted = granted});
  }
  co_await granted->async_receive(boost::asio::use_awaitable);
}

void memory_budget::release(std::uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  left_ += bytes;
  while (!waiting_.empty() && waiting_.front().bytes <= left_) {
    left_ -= waiting_.front().bytes;
    waiting_.front().granted->try_send(boost::system::error_code{});
    waiting_.pop_front();
  }
}

}  // namespace gpuhist::pipeline
