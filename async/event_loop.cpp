#include "async/event_loop.hpp"

#include "async/semaphore.hpp"
#include "async/worker_pool.hpp"

#include <boost/asio/execution/allocator.hpp>
#include <boost/asio/execution/blocking.hpp>

#include <system_error>

namespace gpuhist::async {
namespace asio = boost::asio;

// All items that are posted before run_posted() runs share one operation of the context. Its memory is in this object.
void event_loop::post(work_item& item) noexcept {
  const std::scoped_lock lock(mutex_);
  posted_.push(item);
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

// Items that are posted while the batch runs wait until signals and timers were handled.
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

// The timer may expire, and then be cancelled before the coroutine is resumed.
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
