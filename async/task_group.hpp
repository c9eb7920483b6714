// Groups of tasks: waits for the end of all of them, and keeps the first exception.
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

/// Keeps the first exception that is noted, and then requests a stop. Thread-safe.
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

/// All tasks must have ended before the group is destroyed. Any thread may call spawn(), one coroutine awaits ended().
class task_group {
  class waiting;

 public:
  /// `failures`: receives the exceptions of the tasks.
  explicit task_group(first_failure& failures) noexcept : failures_(failures) {}
  task_group(const task_group&) = delete;
  task_group& operator=(const task_group&) = delete;
  ~task_group() = default;

  /// Throws std::bad_alloc, and then nothing was started.
  void spawn(executor& on, task<> work);

  /// Awaitable; completes when all tasks have ended.
  [[nodiscard]] waiting ended() noexcept { return waiting(*this); }

  /// The number of tasks that have not ended. Thread-safe.
  [[nodiscard]] std::size_t size() const noexcept;

 private:
  class waiting final : public suspended {
   public:
    explicit waiting(task_group& group) noexcept : group_(group) {}

    [[nodiscard]] bool await_ready() const noexcept { return group_.size() == 0; }
    template <typename Promise>
    bool await_suspend(std::coroutine_handle<Promise> here) noexcept {
      hold(here);
      const std::scoped_lock lock(group_.mutex_);
      if (group_.running_ == 0) return false;
      group_.waiting_ = this;
      return true;
    }
    void await_resume() const noexcept {}

   private:
    task_group& group_;
  };

  void note_ended(std::exception_ptr error) noexcept;

  first_failure& failures_;
  mutable std::mutex mutex_;
  std::size_t running_ = 0;
  suspended* waiting_ = nullptr;
};

/// Runs a task and blocks the calling thread until the task has ended. Not to be called on a thread of the executor.
/// Rethrows the exception of the task.
template <typename T>
T run_blocking(executor& on, task<T> work) {
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
    end.changed.notify_one();  // under the lock: the waiting thread destroys `end` once it gets the lock
  };
  if constexpr (std::is_void_v<T>) {
    spawn(on, std::move(work), finish);
    wait();
  } else {
    std::optional<T> result;
    const auto keep = [](task<T> inner, std::optional<T>& to) -> task<> { to.emplace(co_await inner); };
    spawn(on, keep(std::move(work), result), finish);
    wait();
    return std::move(*result);
  }
}

/// The thread that calls run(), as the executor of one task that it waits for.
class calling_thread final : public executor {
 public:
  void post(work_item& item) noexcept override;
  void note_task_begins() noexcept override { has_ended_ = false; }
  void note_task_ended() noexcept override { has_ended_ = true; }

  /// Runs what is posted until the task has ended.
  void run() noexcept;

 private:
  std::mutex mutex_;
  std::condition_variable posted_;
  work_queue waiting_{};
  bool has_ended_ = true;  // used by the calling thread only
};

/// Runs a task on the calling thread, which is blocked while the task waits. Rethrows the exception of the task.
void run_here(task<> work);

}  // namespace gpuhist::async
