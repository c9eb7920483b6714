#include "async/worker_pool.hpp"

#include <memory>
#include <new>
#include <system_error>
#include <utility>

namespace gpuhist::async {
namespace {

class function_item final : public work_item {
 public:
  explicit function_item(std::function<void()> function) : function_(std::move(function)) {}

  void run() noexcept override {
    const std::unique_ptr<function_item> own(this);  // deletes the item; the pool may be destroyed by then
    std::exchange(function_, nullptr)();
  }

 private:
  std::function<void()> function_;
};

}  // namespace

void fail_to_start(const std::error_code& cause) {
  throw std::system_error(
      cause,
      "no thread can be started; raise the limit on processes (ulimit -u, pids.max of the container) or on memory");
}

worker_pool::worker_pool(unsigned threads) {
  threads_.reserve(threads);
  try {
    while (threads_.size() < threads) threads_.emplace_back([this] { work(); });
  } catch (const std::system_error& error) {
    if (threads_.empty()) fail_to_start(error.code());
  } catch (const std::bad_alloc&) {
    if (threads_.empty()) fail_to_start(std::make_error_code(std::errc::not_enough_memory));
  }
}

void worker_pool::post(work_item& item) noexcept {
  {
    const std::scoped_lock lock(mutex_);
    waiting_.push(item);
    if (idle_ == 0) return;
    ++notifying_;
  }
  posted_.notify_one();  // without the lock, which the other thread needs first
  --notifying_;          // last: once the item has run, the pool may be destroyed
}

void worker_pool::post(std::function<void()> function) {
  auto item = std::make_unique<function_item>(std::move(function));
  post(*item.release());
}

void worker_pool::note_task_begins() noexcept {
  const std::scoped_lock lock(mutex_);
  ++tasks_;
}

void worker_pool::note_task_ended() noexcept {
  const std::scoped_lock lock(mutex_);
  if (--tasks_ == 0 && closing_) posted_.notify_all();
}

void worker_pool::join() noexcept {
  {
    const std::scoped_lock lock(mutex_);
    closing_ = true;
  }
  posted_.notify_all();
  for (std::thread& each : threads_) {
    if (each.joinable()) each.join();
  }
  while (notifying_ != 0) std::this_thread::yield();
}

void worker_pool::work() noexcept {
  std::unique_lock lock(mutex_);
  for (;;) {
    while (waiting_.empty()) {
      if (closing_ && tasks_ == 0) return;
      ++idle_;
      posted_.wait(lock);
      --idle_;
    }
    work_item& next = waiting_.pop();
    lock.unlock();
    next.run();
    lock.lock();
  }
}

}  // namespace gpuhist::async
