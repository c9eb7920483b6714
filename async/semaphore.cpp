#include "async/semaphore.hpp"

#include <condition_variable>

namespace gpuhist::async {
// NOLINTBEGIN(cppcoreguidelines-pro-type-static-cast-downcast): each queue holds one type only
namespace {

// Without a lock: a resumed coroutine may destroy the object that holds the mutex.
void post_all(work_queue& waiting) noexcept {
  while (!waiting.empty()) static_cast<suspended&>(waiting.pop()).post();
}

}  // namespace

// The calling thread waits instead of a coroutine, which it has none of: post() wakes it.
class semaphore::blocking_acquisition final : public waiter {
 public:
  using waiter::waiter;

  permit wait(const std::stop_token& stop) noexcept {
    {
      const std::scoped_lock lock(owner_.mutex_);
      if (is_settled()) return result();
      owner_.waiting_.push(*this);
    }
    const std::stop_callback end_on_stop(stop, [this]() noexcept { owner_.end_wait(*this); });
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return has_ended_; });
    return result();
  }

 private:
  void post() noexcept override {
    const std::scoped_lock lock(mutex_);
    has_ended_ = true;
    changed_.notify_one();  // under the lock: the waiting thread destroys this object once it gets the lock
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool has_ended_ = false;
};

semaphore::permit semaphore::acquire_blocking(const std::stop_token& stop, std::uint64_t units) noexcept {
  return blocking_acquisition(*this, units).wait(stop);
}

// Does nothing if the waiter was already served: it is posted then.
void semaphore::end_wait(waiter& ended) noexcept {
  work_queue resumed;
  {
    const std::scoped_lock lock(mutex_);
    if (!waiting_.remove(ended)) return;
    resumed = take_served();  // those that waited after it
    resumed.push(ended);
  }
  post_all(resumed);
}

// Under the lock.
work_queue semaphore::take_served() noexcept {
  work_queue served;
  while (!waiting_.empty() && static_cast<waiter&>(waiting_.front()).units_ <= free_) {
    auto& first = static_cast<waiter&>(waiting_.pop());
    free_ -= first.units_;
    first.granted_ = true;
    served.push(first);
  }
  return served;
}

void semaphore::give_back(std::uint64_t units) noexcept {
  work_queue served;
  {
    const std::scoped_lock lock(mutex_);
    free_ += units;
    served = take_served();
  }
  post_all(served);
}

void semaphore::close() noexcept {
  work_queue resumed;
  {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    resumed = std::exchange(waiting_, {});
  }
  post_all(resumed);
}

void event::set() noexcept {
  work_queue resumed;
  {
    const std::scoped_lock lock(mutex_);
    is_set_ = true;
    resumed = std::exchange(waiting_, {});
  }
  post_all(resumed);
}

void wakeup::notify() noexcept {
  suspended* resumed = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    resumed = std::exchange(waiting_, nullptr);
    if (resumed == nullptr) is_notified_ = true;
  }
  if (resumed != nullptr) resumed->post();
}

void wakeup::close() noexcept {
  suspended* resumed = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    resumed = std::exchange(waiting_, nullptr);
  }
  if (resumed != nullptr) resumed->post();
}

void wakeup::waiting::await_resume() const {
  const std::scoped_lock lock(wakeup_.mutex_);
  if (wakeup_.closed_) throw wait_ended();
}

// NOLINTEND(cppcoreguidelines-pro-type-static-cast-downcast)
}  // namespace gpuhist::async
