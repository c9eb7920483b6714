// Coroutines. A task runs when it is awaited; what it throws is thrown there. Its frame is allocated by the call that
// makes it, so a lack of memory is an exception of that call. Nothing that suspends or resumes a task allocates or
// throws: a coroutine that waits is always resumed, and unwinds by an exception or to its end like any function.
#pragma once

#include "async/executor.hpp"

#include <coroutine>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace gpuhist::async {

namespace detail {

// What resume() is to run next, on its thread.
struct pump {
  std::coroutine_handle<> next;
};

// What the coroutines that await each other have in common: they are one thread of execution.
struct fiber {
  executor* on = nullptr;  // where it is resumed
  pump* running = nullptr;
};

struct promise_base {
  fiber* of = nullptr;
  std::coroutine_handle<> parent{};  // that awaits this one
};

// A loop, not nested calls: how many coroutines end without waiting does not matter to the stack.
inline void resume(fiber& it, std::coroutine_handle<> from) noexcept {
  pump local{from};
  it.running = &local;
  while (local.next) std::exchange(local.next, nullptr).resume();  // after it, the fiber may be running elsewhere
}

struct final_awaiter {
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <typename Promise>
  void await_suspend(std::coroutine_handle<Promise> ended) const noexcept {
    promise_base& promise = ended.promise();
    promise.of->running->next = promise.parent;
  }
  void await_resume() const noexcept {}
};

template <typename T>
struct task_result {
  std::optional<T> value{};
  std::exception_ptr error{};

  template <typename U>
  void return_value(U&& given) {
    value.emplace(std::forward<U>(given));
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

/// The result of a coroutine, to be awaited once by another one: `co_await f()`.
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

  /// Gives back what the coroutine holds.
  void clear() noexcept {
    if (frame_) std::exchange(frame_, nullptr).destroy();
  }

  // The awaiter.
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <typename Promise>
  void await_suspend(std::coroutine_handle<Promise> parent) noexcept {
    promise_type& own = frame_.promise();
    own.of = parent.promise().of;
    own.parent = parent;
    own.of->running->next = frame_;
  }
  T await_resume() { return frame_.promise().take(); }

 private:
  explicit task(std::coroutine_handle<promise_type> frame) noexcept : frame_(frame) {}
  void swap(task& other) noexcept { std::swap(frame_, other.frame_); }

  std::coroutine_handle<promise_type> frame_;
};

/// A coroutine that waits, as what ends the wait keeps it. It lies in the frame of the coroutine.
class suspended : public work_item {
 public:
  /// To be called by await_suspend.
  template <typename Promise>
  void hold(std::coroutine_handle<Promise> waiting) noexcept {
    where_ = waiting;
    of_ = waiting.promise().of;
  }

  /// Resumes it on its executor. This may be gone when the call returns.
  void post() noexcept { of_->on->post(*this); }

  /// Resumes it here. On a thread of its executor.
  void run() noexcept override { detail::resume(*of_, where_); }

  /// The executor on which it is resumed, to be changed while it waits.
  [[nodiscard]] executor*& on() noexcept { return of_->on; }

 protected:
  ~suspended() = default;

 private:
  std::coroutine_handle<> where_;
  detail::fiber* of_ = nullptr;
};

namespace detail {

struct resumption final : suspended {};

struct reposting {
  executor* to;  // null: where it is
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

// The bottom of a fiber: owns itself.
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
    void unhandled_exception() const noexcept { std::terminate(); }  // of `end`, which does not throw
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

/// Awaited, lets others on the same executor have their turn.
inline auto yield() noexcept { return detail::reposting{.to = nullptr}; }

/// Awaited, moves the coroutine to another executor; gives the one it was on.
inline auto move_to(executor& other) noexcept { return detail::reposting{.to = &other}; }

/// Runs a task on another executor; the caller goes on where it was.
template <typename T>
task<T> run_on(executor& other, task<T> what) {
  executor& home = co_await move_to(other);
  std::exception_ptr error;
  if constexpr (std::is_void_v<T>) {
    try {
      co_await what;
    } catch (...) {
      error = std::current_exception();
    }
    what.clear();
    static_cast<void>(co_await move_to(home));
    if (error) std::rethrow_exception(std::move(error));
  } else {
    std::optional<T> result;
    try {
      result.emplace(co_await what);
    } catch (...) {
      error = std::current_exception();
    }
    what.clear();
    static_cast<void>(co_await move_to(home));
    if (error) std::rethrow_exception(std::move(error));
    co_return std::move(*result);
  }
}

/// Starts a task that no coroutine awaits. `end` is called with what it threw, or null, after all that it held was
/// given back; it does not throw. Throws std::bad_alloc, and then nothing was started and `end` is not called.
template <typename End>
void spawn(executor& on, task<> body, End end) {
  const auto frame = detail::run_root(std::move(body), std::move(end)).frame;
  detail::root::promise_type& promise = frame.promise();
  promise.own.on = promise.home = &on;
  promise.of = &promise.own;
  promise.start.hold(frame);
  on.note_task_begins();
  promise.start.post();
}

}  // namespace gpuhist::async
