#include "async/semaphore.hpp"

namespace gpuhist::async {
// NOLINTBEGIN(cppcoreguidelines-pro-type-static-cast-downcast): each queue holds one type only
namespace {

// Without a lock: a resumed coroutine may destroy the object that holds the mutex.
void post_all(work_queue& waiting) noexcept {
  while (!waiting.empty()) static_cast<suspended&>(waiting.pop()).post();
}

}  // namespace

void semaphore::give_back(std::uint64_t units) noexcept {
  work_queue served;
  {
    const std::scoped_lock lock(mutex_);
    free_ += units;
    while (!waiting_.empty() && static_cast<acquisition&>(waiting_.front()).units_ <= free_) {
      auto& first = static_cast<acquisition&>(waiting_.pop());
      free_ -= first.units_;
      first.granted_ = true;
      served.push(first);
    }
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
