#include "async/event_loop.hpp"

#include "async/semaphore.hpp"
#include "async/worker_pool.hpp"

#include <boost/asio/execution/allocator.hpp>
#include <boost/asio/execution/blocking.hpp>

#include <system_error>

namespace gpuhist::async {
namespace asio = boost::asio;

// One operation of the context, whose memory is here, for all that is posted until it runs.
void event_loop::post(work_item& what) noexcept {
  const std::scoped_lock lock(mutex_);
  posted_.push(what);
  if (std::exchange(is_scheduled_, true)) return;
  const detail::operation_allocator<void*, sizeof(scheduling_)> memory(scheduling_);
  asio::require(context_.get_executor(), asio::execution::blocking_t::never, asio::execution::allocator(memory))
      .execute([this] { run_posted(); });
}

void event_loop::note_task_begins() noexcept {
  const std::scoped_lock lock(mutex_);
  ++tasks_;
}

void event_loop::note_task_ended() noexcept {
  const std::scoped_lock lock(mutex_);
  --tasks_;
}

bool event_loop::has_tasks() noexcept {
  const std::scoped_lock lock(mutex_);
  return tasks_ > 0;
}

void event_loop::poll() {
  context_.restart();
  context_.poll();
}

// What is posted meanwhile has its turn after the signals and timers.
void event_loop::run_posted() noexcept {
  work_queue batch;
  {
    const std::scoped_lock lock(mutex_);
    batch = std::exchange(posted_, {});
    is_scheduled_ = false;
  }
  while (!batch.empty()) batch.pop().run();
}

loop_thread::loop_thread() {
  try {
    thread_ = std::thread([this] { loop_.run_until([this] { return end_.is_due; }); });
  } catch (const std::system_error& error) {
    fail_to_start(error.code());
  }
}

loop_thread::~loop_thread() {
  loop_.post(end_);
  thread_.join();
}

// It may have gone off, and be cancelled before the coroutine has its turn.
task<> alarm::wait() {
  if (is_cancelled_) throw wait_ended();
  co_await expiry_of(timer_);
  if (is_cancelled_) throw wait_ended();
}

void alarm::cancel() {
  is_cancelled_ = true;
  timer_.cancel();
}

}  // namespace gpuhist::async
