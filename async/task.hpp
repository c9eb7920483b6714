// Coroutines. A task runs when it is awaited, and its exception is rethrown there. The call that creates a task
// allocates its frame, and throws std::bad_alloc if that fails. Suspending and resuming neither allocate nor throw: a
// waiting coroutine is always resumed, and ends by a return or an exception, as a function does.
#pragma once

#include "async/executor.hpp"

#include <coroutine>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace gpuhist::async {

namespace detail {

// The coroutine that resume() runs next, on its thread.
struct pump {
  std::coroutine_handle<> next;
};

// State that is shared by coroutines that await each other: together they are one thread of execution.
struct fiber {
  executor* on = nullptr;  // resumes the fiber
  pump* running = nullptr;
};

struct promise_base {
  fiber* owner = nullptr;
  std::coroutine_handle<> parent{};  // awaits this coroutine
};

// A loop, not nested calls: the stack does not grow with the number of coroutines that end without waiting.
inline void resume(fiber& resumed, std::coroutine_handle<> from) noexcept {
  pump local{from};
  resumed.running = &local;
  while (local.next) std::exchange(local.next, nullptr).resume();  // then the fiber may run on another thread
}

struct final_awaiter {
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <typename Promise>
  void await_suspend(std::coroutine_handle<Promise> ended) const noexcept {
    promise_base& promise = ended.promise();
    promise.owner->running->next = promise.parent;
  }
  void await_resume() const noexcept {}
};

template <typename T>
struct task_result {
  std::optional<T> value{};
  std::exception_ptr error{};

  template <typename U>
  void return_value(U&& result) {
    value.emplace(std::forward<U>(result));
  }

  T take() {
    if (error) std::rethrow_exception(std::move(error));
    return std::move(*value);
  }
};

template <>
struct task_result<void> {
  std::exception_ptr error{};

  void return_void() const noexcept {}

  void take() {
    if (error) std::rethrow_exception(std::move(error));
  }
};

}  // namespace detail

/// A coroutine that another coroutine awaits once: `co_await f()`.
template <typename T = void>
class [[nodiscard]] task {
 public:
  struct promise_type : detail::promise_base, detail::task_result<T> {
    task get_return_object() noexcept { return task(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    detail::final_awaiter final_suspend() const noexcept { return {}; }
    void unhandled_exception() noexcept { this->error = std::current_exception(); }
  };

  task(task&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  task& operator=(task&& other) noexcept {
    task(std::move(other)).swap(*this);
    return *this;
  }
  ~task() { clear(); }

  /// Destroys the coroutine, and everything that it holds.
  void clear() noexcept {
    if (frame_) std::exchange(frame_, nullptr).destroy();
  }

  // The awaiter.
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <typename Promise>
  void await_suspend(std::coroutine_handle<Promise> parent) noexcept {
    promise_type& own = frame_.promise();
    own.owner = parent.promise().owner;
    own.parent = parent;
    own.owner->running->next = frame_;
  }
  T await_resume() { return frame_.promise().take(); }

 private:
  explicit task(std::coroutine_handle<promise_type> frame) noexcept : frame_(frame) {}
  void swap(task& other) noexcept { std::swap(frame_, other.frame_); }

  std::coroutine_handle<promise_type> frame_;
};

/// A waiting coroutine, for the object that ends the wait. It is part of the frame of the coroutine.
class suspended : public work_item {
 public:
  /// Called by await_suspend.
  template <typename Promise>
  void hold(std::coroutine_handle<Promise> waiting) noexcept {
    handle_ = waiting;
    fiber_ = waiting.promise().owner;
  }

  /// Resumes the coroutine on its executor. This object may already be destroyed when the call returns.
  virtual void post() noexcept { fiber_->on->post(*this); }

  /// Resumes the coroutine within this call. On a thread of its executor.
  void run() noexcept override { detail::resume(*fiber_, handle_); }

  /// The executor that resumes the coroutine. It may be changed during the wait.
  [[nodiscard]] executor*& on() noexcept { return fiber_->on; }

 protected:
  ~suspended() = default;

 private:
  std::coroutine_handle<> handle_;
  detail::fiber* fiber_ = nullptr;
};

namespace detail {

struct resumption final : suspended {};

struct reposting {
  executor* to;  // null: the current one
  executor* from = nullptr;
  resumption waiting{};

  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <typename Promise>
  void await_suspend(std::coroutine_handle<Promise> here) noexcept {
    waiting.hold(here);
    from = waiting.on();
    if (to != nullptr) waiting.on() = to;
    waiting.post();
  }
  executor& await_resume() const noexcept { return *from; }
};

// The outermost coroutine of a fiber. It destroys itself when it ends.
struct root {
  struct promise_type : promise_base {
    fiber own{};
    executor* home = nullptr;
    resumption start{};

    root get_return_object() noexcept { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    auto final_suspend() const noexcept {
      struct ending {
        [[nodiscard]] bool await_ready() const noexcept { return false; }
        void await_suspend(std::coroutine_handle<promise_type> ended) const noexcept {
          executor& home = *ended.promise().home;
          ended.destroy();
          home.note_task_ended();
        }
        void await_resume() const noexcept {}
      };
      return ending{};
    }
    void return_void() const noexcept {}
    void unhandled_exception() const noexcept { std::terminate(); }  // `end` does not throw
  };

  std::coroutine_handle<promise_type> frame;
};

template <typename End>
root run_root(task<> body, End end) {
  std::exception_ptr error;
  try {
    co_await body;
  } catch (...) {
    error = std::current_exception();
  }
  body.clear();
  end(std::move(error));
}

}  // namespace detail

/// Awaitable; resumes after the other items that are queued on the same executor.
inline auto yield() noexcept { return detail::reposting{.to = nullptr}; }

/// Awaitable; moves the coroutine to another executor, and returns the previous one.
inline auto move_to(executor& other) noexcept { return detail::reposting{.to = &other}; }

/// Runs a task on another executor. The caller continues on its own executor.
template <typename T>
task<T> run_on(executor& other, task<T> work) {
  executor& home = co_await move_to(other);
  std::exception_ptr error;
  if constexpr (std::is_void_v<T>) {
    try {
      co_await work;
    } catch (...) {
      error = std::current_exception();
    }
    work.clear();
    static_cast<void>(co_await move_to(home));
    if (error) std::rethrow_exception(std::move(error));
  } else {
    std::optional<T> result;
    try {
      result.emplace(co_await work);
    } catch (...) {
      error = std::current_exception();
    }
    work.clear();
    static_cast<void>(co_await move_to(home));
    if (error) std::rethrow_exception(std::move(error));
    co_return std::move(*result);
  }
}

/// Starts a task that no coroutine awaits. Calls `end` with the exception of the task, or null, after the task was
/// destroyed. `end` does not throw. Throws std::bad_alloc, and then nothing was started and `end` is not called.
template <typename End>
void spawn(executor& on, task<> body, End end) {
  const auto frame = detail::run_root(std::move(body), std::move(end)).frame;
  detail::root::promise_type& promise = frame.promise();
  promise.own.on = promise.home = &on;
  promise.owner = &promise.own;
  promise.start.hold(frame);
  on.note_task_begins();
  promise.start.post();
}

}  // namespace gpuhist::async
