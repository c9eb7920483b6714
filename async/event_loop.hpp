// The event loop for streams, signals and timers: an io_context that is also an executor, and awaitables for its timers
// and descriptors.
#pragma once

#include "async/task.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/error_code.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

namespace gpuhist::async {

namespace detail {

// Memory for one operation of Asio at a time.
template <std::size_t bytes>
struct operation_memory {
  alignas(std::max_align_t) std::array<std::byte, bytes> room;
};

template <typename T, std::size_t bytes>
class operation_allocator {
 public:
  using value_type = T;
  template <typename U>
  struct rebind {
    using other = operation_allocator<U, bytes>;
  };

  explicit operation_allocator(operation_memory<bytes>& memory) noexcept : memory_(&memory) {}
  template <typename U>
  operation_allocator(const operation_allocator<U, bytes>& other) noexcept : memory_(other.memory()) {}

  T* allocate(std::size_t number) {
    if (number * sizeof(T) > bytes) throw std::bad_alloc();  // never: owners make the memory large enough
    return reinterpret_cast<T*>(memory_->room.data());
  }
  void deallocate(T*, std::size_t) noexcept {}

  [[nodiscard]] operation_memory<bytes>* memory() const noexcept { return memory_; }
  template <typename U>
  bool operator==(const operation_allocator<U, bytes>& other) const noexcept {
    return memory_ == other.memory();
  }

 private:
  operation_memory<bytes>* memory_;
};

}  // namespace detail

/// post() and the note_ functions are thread-safe. All others are for the thread that runs the loop.
class event_loop final : public executor {
 public:
  event_loop() = default;

  [[nodiscard]] boost::asio::io_context& context() noexcept { return context_; }

  void post(work_item& item) noexcept override;
  void note_task_begins() noexcept override;
  void note_task_ended() noexcept override;

  /// Runs until the condition holds. Checks it after each event. Exceptions of handlers of the context pass through;
  /// the loop can be run again after one.
  template <std::predicate Condition>
  void run_until(Condition holds) {
    const auto busy = boost::asio::require(context_.get_executor(), boost::asio::execution::outstanding_work.tracked);
    context_.restart();  // poll() may have stopped the context
    while (!holds()) context_.run_one();
  }

  /// Whether any task that was spawned here still runs.
  [[nodiscard]] bool has_tasks() noexcept;

  /// Runs everything that is ready. Does not wait.
  void poll();

 private:
  void run_posted() noexcept;

  std::mutex mutex_;
  work_queue posted_{};
  bool is_scheduled_ = false;  // run_posted() will be called
  std::size_t tasks_ = 0;
  detail::operation_memory<128> scheduling_;  // before the context, whose destructor reads it
  boost::asio::io_context context_{1};
};

/// A loop with its own thread. The destructor returns after all posted items have run.
class loop_thread {
 public:
  /// Throws std::system_error where no thread can be started.
  loop_thread();
  loop_thread(const loop_thread&) = delete;
  loop_thread& operator=(const loop_thread&) = delete;
  ~loop_thread();

  [[nodiscard]] event_loop& loop() noexcept { return loop_; }

 private:
  struct ending final : work_item {
    void run() noexcept override { is_due = true; }
    bool is_due = false;
  };

  ending end_{};
  event_loop loop_;
  std::thread thread_;
};

/// Awaitable for an Asio operation that results in an error code. Awaited on the thread of the loop.
template <typename Start>
class operation_wait {
 public:
  explicit operation_wait(Start start) : start_(std::move(start)) {}

  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <typename Promise>
  bool await_suspend(std::coroutine_handle<Promise> here) noexcept {
    waiting_.hold(here);
    try {
      start_(boost::asio::bind_allocator(detail::operation_allocator<void*, room>(memory_),
                                         [this](const boost::system::error_code& error) {
                                           result_ = error;
                                           waiting_.run();
                                         }));
      return true;
    } catch (...) {
      error_ = std::current_exception();
      return false;
    }
  }
  boost::system::error_code await_resume() {
    if (error_) std::rethrow_exception(std::move(error_));
    return result_;
  }

 private:
  static constexpr std::size_t room = 512;

  Start start_;
  detail::resumption waiting_{};
  boost::system::error_code result_{};
  std::exception_ptr error_{};
  detail::operation_memory<room> memory_;
};

/// Awaitable; completes when the timer expires or is cancelled. The timer outlives the wait. Throws std::bad_alloc.
inline auto expiry_of(boost::asio::steady_timer& timer) {
  return operation_wait([&timer](auto handler) { timer.async_wait(std::move(handler)); });
}

/// Awaitable; completes when the descriptor can be read, or with an error. The descriptor outlives the wait.
inline auto readability_of(boost::asio::posix::stream_descriptor& descriptor) {
  return operation_wait([&descriptor](auto handler) {
    descriptor.async_wait(boost::asio::posix::descriptor_base::wait_read, std::move(handler));
  });
}

/// A timer for a loop in one coroutine. After cancel() it cannot be used again.
class alarm {
 public:
  explicit alarm(event_loop& loop) : timer_(loop.context()) {}

  void set(std::chrono::steady_clock::time_point due) { timer_.expires_at(due); }
  void set(std::chrono::steady_clock::duration delay) { timer_.expires_after(delay); }

  /// Completes when the timer expires. Throws wait_ended after cancel(), and std::bad_alloc.
  task<> wait();

  void cancel();

 private:
  boost::asio::steady_timer timer_;
  bool is_cancelled_ = false;
};

/// Awaitable; completes when the timer expires or is cancelled, or when the descriptor can be read. Then it cancels the
/// other wait. Timer and descriptor outlive the wait. Throws std::bad_alloc.
class either_wait {
  static constexpr std::size_t room = 512;

  // declared before its users, because its return type is deduced
  auto ended(detail::operation_memory<room>& memory) {
    return boost::asio::bind_allocator(detail::operation_allocator<void*, room>(memory),
                                       [this](const boost::system::error_code&) {
                                         cancel_both();
                                         if (--pending_ == 0) waiting_.run();
                                       });
  }

 public:
  either_wait(boost::asio::steady_timer& timer, boost::asio::posix::stream_descriptor& descriptor)
      : timer_(timer), descriptor_(descriptor) {}

  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <typename Promise>
  bool await_suspend(std::coroutine_handle<Promise> here) noexcept {
    waiting_.hold(here);
    try {
      descriptor_.async_wait(boost::asio::posix::descriptor_base::wait_read, ended(memory_[0]));
      ++pending_;
      timer_.async_wait(ended(memory_[1]));
      ++pending_;
    } catch (...) {
      error_ = std::current_exception();
      cancel_both();
    }
    return pending_ > 0;
  }
  void await_resume() {
    if (error_) std::rethrow_exception(std::move(error_));
  }

 private:
  void cancel_both() {
    boost::system::error_code ignored;
    descriptor_.cancel(ignored);
    timer_.cancel();
  }

  boost::asio::steady_timer& timer_;
  boost::asio::posix::stream_descriptor& descriptor_;
  detail::resumption waiting_{};
  int pending_ = 0;
  std::exception_ptr error_{};
  std::array<detail::operation_memory<room>, 2> memory_;
};

/// A function that is called once, on an executor, when any thread posts it. Its memory is allocated beforehand, so
/// that post() cannot fail. A posted object lives until the call has ended.
class deferred_call final : public work_item, public std::enable_shared_from_this<deferred_call> {
 public:
  /// `function` does not throw.
  deferred_call(executor& on, std::function<void()> function) : on_(on), function_(std::move(function)) {}

  /// Thread-safe. All calls but the first do nothing.
  void post() noexcept {
    if (is_posted_.exchange(true)) return;
    own_ = weak_from_this().lock();
    on_.post(*this);
  }

 private:
  void run() noexcept override {
    const std::shared_ptr<deferred_call> held = std::move(own_);
    function_();
  }

  executor& on_;
  const std::function<void()> function_;
  std::atomic<bool> is_posted_{false};
  std::shared_ptr<deferred_call> own_;  // keeps the object alive while it is posted
};

/// A function that is called on an executor each time it is posted. Posts before the call begins result in one call.
/// The object outlives its calls.
template <typename Function>
class posted_call final : public work_item {
 public:
  posted_call(executor& on, Function function) : on_(on), function_(std::move(function)) {}

  void post() noexcept {
    if (!is_posted_.exchange(true)) on_.post(*this);
  }

  [[nodiscard]] bool is_posted() const noexcept { return is_posted_; }

  void run() noexcept override {
    is_posted_ = false;
    function_();
  }

 private:
  executor& on_;
  Function function_;
  std::atomic<bool> is_posted_{false};
};

}  // namespace gpuhist::async
