// Synchronization of coroutines: semaphore, event, wakeup. Waiting and notifying allocate nothing and do not throw.
// Waiters are served in FIFO order. All members are thread-safe. Threads can wait for a semaphore, too.
#pragma once

#include "async/task.hpp"

#include <cstdint>
#include <exception>
#include <mutex>
#include <stop_token>
#include <utility>

namespace gpuhist::async {

/// Thrown by a wait that close() ended.
class wait_ended : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "the wait was ended"; }
};

/// A counting semaphore, with units instead of single permits. It outlives its permits.
class semaphore {
  class waiter;
  class acquisition;
  class blocking_acquisition;

 public:
  /// Owns some of the units. The destructor returns them.
  class permit {
   public:
    permit() = default;
    permit(permit&& other) noexcept
        : owner_(std::exchange(other.owner_, nullptr)), units_(std::exchange(other.units_, std::uint64_t{0})) {}
    permit& operator=(permit&& other) noexcept {
      if (this != &other) {
        release();
        owner_ = std::exchange(other.owner_, nullptr);
        units_ = std::exchange(other.units_, 0);
      }
      return *this;
    }
    ~permit() { release(); }

    void release() noexcept {
      if (semaphore* const owner = std::exchange(owner_, nullptr)) owner->give_back(std::exchange(units_, 0));
    }

    [[nodiscard]] explicit operator bool() const noexcept { return owner_ != nullptr; }

   private:
    friend class semaphore;
    permit(semaphore& owner, std::uint64_t units) noexcept : owner_(&owner), units_(units) {}

    semaphore* owner_ = nullptr;
    std::uint64_t units_ = 0;
  };

  explicit semaphore(std::uint64_t units) noexcept : free_(units) {}
  semaphore(const semaphore&) = delete;
  semaphore& operator=(const semaphore&) = delete;
  ~semaphore() = default;

  /// Awaitable; returns a permit once `units` units are free and all earlier waiters were served. Returns an empty
  /// permit after close().
  [[nodiscard]] acquisition acquire(std::uint64_t units = 1) noexcept { return acquisition(*this, units); }

  /// As acquire(), for threads: blocks the calling thread. Returns an empty permit also once `stop` is requested.
  [[nodiscard]] permit acquire_blocking(const std::stop_token& stop, std::uint64_t units = 1) noexcept;

  /// Returns an empty permit instead of waiting.
  [[nodiscard]] permit try_acquire(std::uint64_t units = 1) noexcept {
    const std::scoped_lock lock(mutex_);
    return may_take(units) ? permit(*this, units) : permit();
  }

  /// Adds units.
  void add(std::uint64_t units) noexcept { give_back(units); }

  /// Ends all waits, those of later calls included.
  void close() noexcept;

 private:
  class waiter : public suspended {
   public:
    waiter(semaphore& owner, std::uint64_t units) noexcept : owner_(owner), units_(units) {}

   protected:
    ~waiter() = default;

    bool is_settled() noexcept {  // under the lock
      granted_ = owner_.may_take(units_);
      return granted_ || owner_.closed_;
    }
    [[nodiscard]] permit result() const noexcept { return granted_ ? permit(owner_, units_) : permit(); }

    semaphore& owner_;

   private:
    friend class semaphore;

    const std::uint64_t units_;
    bool granted_ = false;
  };

  class acquisition final : public waiter {
   public:
    using waiter::waiter;

    [[nodiscard]] bool await_ready() noexcept {
      const std::scoped_lock lock(owner_.mutex_);
      return is_settled();
    }
    template <typename Promise>
    bool await_suspend(std::coroutine_handle<Promise> here) noexcept {
      hold(here);
      const std::scoped_lock lock(owner_.mutex_);
      if (is_settled()) return false;
      owner_.waiting_.push(*this);
      return true;
    }
    [[nodiscard]] permit await_resume() const noexcept { return result(); }
  };

  bool may_take(std::uint64_t units) noexcept {  // under the lock
    if (closed_ || !waiting_.empty() || units > free_) return false;
    free_ -= units;
    return true;
  }
  void give_back(std::uint64_t units) noexcept;
  void end_wait(waiter& ended) noexcept;
  work_queue take_served() noexcept;

  std::mutex mutex_;
  std::uint64_t free_;
  bool closed_ = false;
  work_queue waiting_{};  // of waiter
};

/// A flag that is set once, and stays set.
class event {
  class waiting;

 public:
  void set() noexcept;

  [[nodiscard]] bool is_set() const noexcept {
    const std::scoped_lock lock(mutex_);
    return is_set_;
  }

  /// Awaitable; completes when the event is set.
  [[nodiscard]] waiting wait() noexcept { return waiting(*this); }

 private:
  class waiting final : public suspended {
   public:
    explicit waiting(event& owner) noexcept : owner_(owner) {}

    [[nodiscard]] bool await_ready() const noexcept { return owner_.is_set(); }
    template <typename Promise>
    bool await_suspend(std::coroutine_handle<Promise> here) noexcept {
      hold(here);
      const std::scoped_lock lock(owner_.mutex_);
      if (owner_.is_set_) return false;
      owner_.waiting_.push(*this);
      return true;
    }
    void await_resume() const noexcept {}

   private:
    event& owner_;
  };

  mutable std::mutex mutex_;
  bool is_set_ = false;
  work_queue waiting_{};
};

/// Notifications for one coroutine; those that come before it waits are one. A wait always suspends, also where a
/// notification is there already: a coroutine that is notified again and again lets others have their turn.
class wakeup {
  class waiting;

 public:
  void notify() noexcept;

  /// Awaited, completes when there was a notification. Throws wait_ended after close().
  [[nodiscard]] waiting wait() noexcept { return waiting(*this); }

  void close() noexcept;

 private:
  class waiting final : public suspended {
   public:
    explicit waiting(wakeup& awaited) noexcept : wakeup_(awaited) {}

    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <typename Promise>
    void await_suspend(std::coroutine_handle<Promise> here) noexcept {
      hold(here);
      if (wakeup_.must_wait(*this)) return;
      post();  // outside the lock: the coroutine may destroy this object before post() returns
    }
    void await_resume() const;

   private:
    wakeup& wakeup_;
  };

  /// Registers the waiter. False if it need not wait: there was a notification, which this takes, or close() was
  /// called.
  bool must_wait(suspended& waiter) noexcept {
    const std::scoped_lock lock(mutex_);
    if (closed_ || std::exchange(is_notified_, false)) return false;
    waiting_ = &waiter;
    return true;
  }

  std::mutex mutex_;
  bool is_notified_ = false;
  bool closed_ = false;
  suspended* waiting_ = nullptr;
};

}  // namespace gpuhist::async
