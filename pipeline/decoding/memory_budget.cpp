#include "pipeline/decoding/memory_budget.hpp"

namespace gpuhist::pipeline {

boost::asio::awaitable<void> memory_budget::acquire(std::uint64_t bytes) {
  std::shared_ptr<wakeup> granted;
  {
    const std::scoped_lock lock(mutex_);
    if (waiting_.empty() && bytes <= left_) {
      left_ -= bytes;
      co_return;
    }
    granted = std::make_shared<wakeup>(executor_);
    waiting_.push_back({.bytes = bytes, .granted = granted});
  }
  co_await granted->wait();
}

void memory_budget::release(std::uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  left_ += bytes;
  while (!waiting_.empty() && waiting_.front().bytes <= left_) {
    left_ -= waiting_.front().bytes;
    waiting_.front().granted->notify();
    waiting_.pop_front();
  }
}

}  // namespace gpuhist::pipeline
