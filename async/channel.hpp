// Values from coroutines to one that takes them.
#pragma once

#include "async/semaphore.hpp"

#include <deque>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

namespace gpuhist::async {

/// First in, first out, without a bound; one coroutine takes. Thread-safe. A push may lack memory, the end never does.
template <typename T>
class channel {
  static_assert(std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T>);

 public:
  /// Throws std::bad_alloc; nothing was pushed then.
  void push(T value) {
    {
      const std::scoped_lock lock(mutex_);
      if (last_) return;
      waiting_.push_back(std::move(value));
    }
    there_.notify();
  }

  /// The last value; all later ones, and another end, are dropped.
  void end(T last) noexcept {
    {
      const std::scoped_lock lock(mutex_);
      if (last_) return;
      last_.emplace(std::move(last));
    }
    there_.notify();
  }

  /// The next value without waiting. The last one is given again and again.
  std::optional<T> try_take() {
    const std::scoped_lock lock(mutex_);
    if (waiting_.empty()) return last_;
    std::optional<T> taken(std::move(waiting_.front()));
    waiting_.pop_front();
    return taken;
  }

  task<T> take() {
    for (;;) {
      std::optional<T> taken = try_take();
      if (taken) co_return std::move(*taken);
      co_await there_.wait();
    }
  }

 private:
  std::mutex mutex_;
  std::deque<T> waiting_;
  std::optional<T> last_;
  wakeup there_;
};

}  // namespace gpuhist::async
