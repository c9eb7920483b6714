// Tasks that no coroutine awaits one by one: how they end, and what they failed with.
#pragma once

#include "async/task.hpp"

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>

namespace gpuhist::async {

/// Keeps the first failure of several, and asks for a stop with it. Thread-safe.
class first_failure {
 public:
  explicit first_failure(std::stop_source stop = std::stop_source(std::nostopstate)) noexcept
      : stop_(std::move(stop)) {}

  /// Does nothing for null.
  void note(std::exception_ptr error) noexcept;

  [[nodiscard]] std::exception_ptr get() const noexcept;

  void rethrow() const {
    if (const std::exception_ptr error = get()) std::rethrow_exception(error);
  }

 private:
  mutable std::mutex mutex_;
  std::exception_ptr error_;
  std::stop_source stop_;
};

/// Tasks that end before the group does. spawn() and ended() are for one coroutine.
class task_group {
  class waiting;

 public:
  /// `failures`: what tasks throw is noted there.
  explicit task_group(first_failure& failures) noexcept : failures_(failures) {}
  task_group(const task_group&) = delete;
  task_group& operator=(const task_group&) = delete;
  ~task_group() = default;

  /// Throws std::bad_alloc; then nothing was begun.
  void spawn(executor& on, task<> what);

  /// Awaited, completes when all have ended.
  [[nodiscard]] waiting ended() noexcept { return waiting(*this); }

  /// Tasks that have not ended. Thread-safe.
  [[nodiscard]] std::size_t size() const noexcept;

 private:
  class waiting final : public suspended {
   public:
    explicit waiting(task_group& of) noexcept : of_(of) {}

    [[nodiscard]] bool await_ready() const noexcept { return of_.size() == 0; }
    template <typename Promise>
    bool await_suspend(std::coroutine_handle<Promise> here) noexcept {
      hold(here);
      const std::scoped_lock lock(of_.mutex_);
      if (of_.running_ == 0) return false;
      of_.waiting_ = this;
      return true;
    }
    void await_resume() const noexcept {}

   private:
    task_group& of_;
  };

  void note_ended(std::exception_ptr error) noexcept;

  first_failure& failures_;
  mutable std::mutex mutex_;
  std::size_t running_ = 0;
  suspended* waiting_ = nullptr;
};

/// Runs a task and blocks the calling thread, which is none of the executor's, until it has ended. Throws what it
/// threw.
template <typename T>
T run_blocking(executor& on, task<T> what) {
  struct ending {
    std::mutex mutex;
    std::condition_variable changed;
    bool is_finished = false;
    std::exception_ptr error;
  } end;
  const auto wait = [&end] {
    std::unique_lock lock(end.mutex);
    end.changed.wait(lock, [&end] { return end.is_finished; });
    if (end.error) std::rethrow_exception(std::exchange(end.error, nullptr));
  };
  const auto finish = [&end](std::exception_ptr error) noexcept {
    const std::scoped_lock lock(end.mutex);
    end.error = std::move(error);
    end.is_finished = true;
    end.changed.notify_one();  // under the lock: `end` goes when the other side has it
  };
  if constexpr (std::is_void_v<T>) {
    spawn(on, std::move(what), finish);
    wait();
  } else {
    std::optional<T> result;
    const auto keep = [](task<T> of, std::optional<T>& to) -> task<> { to.emplace(co_await of); };
    spawn(on, keep(std::move(what), result), finish);
    wait();
    return std::move(*result);
  }
}

}  // namespace gpuhist::async
