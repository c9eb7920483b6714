// What coroutines wait for: permits, an event, a notification. Waiting and giving back allocate nothing and do not
// throw; who waits first is served first. All members are thread-safe.
#pragma once

#include "async/task.hpp"

#include <cstdint>
#include <exception>
#include <mutex>
#include <utility>

namespace gpuhist::async {

/// A wait that close() ended.
class wait_ended : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "the wait was ended"; }
};

/// A counting semaphore. It outlives its permits.
class semaphore {
  class acquisition;

 public:
  /// The right to some of the units, given back by the destructor.
  class permit {
   public:
    permit() = default;
    permit(permit&& other) noexcept
        : of_(std::exchange(other.of_, nullptr)), units_(std::exchange(other.units_, std::uint64_t{0})) {}
    permit& operator=(permit&& other) noexcept {
      if (this != &other) {
        release();
        of_ = std::exchange(other.of_, nullptr);
        units_ = std::exchange(other.units_, 0);
      }
      return *this;
    }
    ~permit() { release(); }

    void release() noexcept {
      if (semaphore* const of = std::exchange(of_, nullptr)) of->give_back(std::exchange(units_, 0));
    }

    [[nodiscard]] explicit operator bool() const noexcept { return of_ != nullptr; }

   private:
    friend class semaphore;
    permit(semaphore& of, std::uint64_t units) noexcept : of_(&of), units_(units) {}

    semaphore* of_ = nullptr;
    std::uint64_t units_ = 0;
  };

  explicit semaphore(std::uint64_t units) noexcept : free_(units) {}
  semaphore(const semaphore&) = delete;
  semaphore& operator=(const semaphore&) = delete;
  ~semaphore() = default;

  /// Awaited, gives a permit once there are so many units and no earlier waiter; an empty one after close().
  [[nodiscard]] acquisition acquire(std::uint64_t units = 1) noexcept { return acquisition(*this, units); }

  /// An empty permit where it would have to wait.
  [[nodiscard]] permit try_acquire(std::uint64_t units = 1) noexcept {
    const std::scoped_lock lock(mutex_);
    return may_take(units) ? permit(*this, units) : permit();
  }

  /// Ends all waits.
  void close() noexcept;

 private:
  class acquisition final : public suspended {
   public:
    acquisition(semaphore& of, std::uint64_t units) noexcept : of_(of), units_(units) {}

    [[nodiscard]] bool await_ready() noexcept {
      const std::scoped_lock lock(of_.mutex_);
      return is_settled();
    }
    template <typename Promise>
    bool await_suspend(std::coroutine_handle<Promise> here) noexcept {
      hold(here);
      const std::scoped_lock lock(of_.mutex_);
      if (is_settled()) return false;
      of_.waiting_.push(*this);
      return true;
    }
    [[nodiscard]] permit await_resume() const noexcept { return granted_ ? permit(of_, units_) : permit(); }

   private:
    friend class semaphore;

    bool is_settled() noexcept {  // under the lock
      granted_ = of_.may_take(units_);
      return granted_ || of_.closed_;
    }

    semaphore& of_;
    const std::uint64_t units_;
    bool granted_ = false;
  };

  bool may_take(std::uint64_t units) noexcept {  // under the lock
    if (closed_ || !waiting_.empty() || units > free_) return false;
    free_ -= units;
    return true;
  }
  void give_back(std::uint64_t units) noexcept;

  std::mutex mutex_;
  std::uint64_t free_;
  bool closed_ = false;
  work_queue waiting_{};  // acquisitions
};

/// Something that happens once.
class event {
  class waiting;

 public:
  void set() noexcept;

  /// Awaited, completes when the event was set.
  [[nodiscard]] waiting wait() noexcept { return waiting(*this); }

 private:
  class waiting final : public suspended {
   public:
    explicit waiting(event& of) noexcept : of_(of) {}

    [[nodiscard]] bool await_ready() const noexcept {
      const std::scoped_lock lock(of_.mutex_);
      return of_.is_set_;
    }
    template <typename Promise>
    bool await_suspend(std::coroutine_handle<Promise> here) noexcept {
      hold(here);
      const std::scoped_lock lock(of_.mutex_);
      if (of_.is_set_) return false;
      of_.waiting_.push(*this);
      return true;
    }
    void await_resume() const noexcept {}

   private:
    event& of_;
  };

  std::mutex mutex_;
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
    explicit waiting(wakeup& of) noexcept : of_(of) {}

    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <typename Promise>
    void await_suspend(std::coroutine_handle<Promise> here) noexcept {
      hold(here);
      if (of_.is_to_wait(*this)) return;
      post();  // without the lock: this may be destroyed when it returns
    }
    void await_resume() const;

   private:
    wakeup& of_;
  };

  /// False where it ends at once: there is a notification, which it takes, or it was closed.
  bool is_to_wait(suspended& waiter) noexcept {
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
