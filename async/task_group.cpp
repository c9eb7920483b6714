#include "async/task_group.hpp"

namespace gpuhist::async {

void first_failure::note(std::exception_ptr error) noexcept {
  if (!error) return;
  {
    const std::scoped_lock lock(mutex_);
    if (error_) return;
    error_ = std::move(error);
  }
  stop_.request_stop();
}

std::exception_ptr first_failure::get() const noexcept {
  const std::scoped_lock lock(mutex_);
  return error_;
}

void task_group::spawn(executor& on, task<> work) {
  {
    const std::scoped_lock lock(mutex_);
    ++running_;
  }
  try {
    async::spawn(on, std::move(work), [this](std::exception_ptr error) noexcept { note_ended(std::move(error)); });
  } catch (...) {
    note_ended(nullptr);
    throw;
  }
}

void task_group::note_ended(std::exception_ptr error) noexcept {
  failures_.note(std::move(error));
  suspended* resumed = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    if (--running_ == 0) resumed = std::exchange(waiting_, nullptr);
  }
  if (resumed != nullptr) resumed->post();  // the group may already be destroyed
}

// Notified under the lock: run() may return, and the object be destroyed, once it gets the lock.
void calling_thread::post(work_item& item) noexcept {
  const std::scoped_lock lock(mutex_);
  waiting_.push(item);
  posted_.notify_one();
}

void calling_thread::run() noexcept {
  while (!has_ended_) {
    std::unique_lock lock(mutex_);
    posted_.wait(lock, [this] { return !waiting_.empty(); });
    work_item& next = waiting_.pop();
    lock.unlock();
    next.run();
  }
}

void run_here(task<> work) {
  calling_thread here;
  std::exception_ptr error;
  spawn(here, std::move(work), [&error](std::exception_ptr thrown) noexcept { error = std::move(thrown); });
  here.run();
  if (error) std::rethrow_exception(std::move(error));
}

std::size_t task_group::size() const noexcept {
  const std::scoped_lock lock(mutex_);
  return running_;
}

}  // namespace gpuhist::async
