// A queue of values between coroutines: many may push, one takes.
#pragma once

#include "async/semaphore.hpp"

#include <deque>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

namespace gpuhist::async {

/// An unbounded FIFO queue with one consumer. Thread-safe. push() allocates memory, end() does not.
template <typename T>
class channel {
  static_assert(std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T>);

 public:
  /// Throws std::bad_alloc, and then pushes nothing.
  void push(T value) {
    {
      const std::scoped_lock lock(mutex_);
      if (last_) return;
      waiting_.push_back(std::move(value));
    }
    pushed_.notify();
  }

  /// Pushes the last value. Later calls of push() and end() do nothing.
  void end(T last) noexcept {
    {
      const std::scoped_lock lock(mutex_);
      if (last_) return;
      last_.emplace(std::move(last));
    }
    pushed_.notify();
  }

  /// The next value, or nothing if there is none yet. After end(), the last value is returned by every further call.
  std::optional<T> try_take() {
    const std::scoped_lock lock(mutex_);
    if (waiting_.empty()) return last_;
    std::optional<T> taken(std::move(waiting_.front()));
    waiting_.pop_front();
    return taken;
  }

  /// Like try_take(), but waits for a value.
  task<T> take() {
    for (;;) {
      std::optional<T> taken = try_take();
      if (taken) co_return std::move(*taken);
      co_await pushed_.wait();
    }
  }

 private:
  std::mutex mutex_;
  std::deque<T> waiting_;
  std::optional<T> last_;
  wakeup pushed_;
};

}  // namespace gpuhist::async
