// The threads that read files, decode and count.
#pragma once

#include "async/executor.hpp"

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace gpuhist::async {

/// Throws std::system_error, which says what helps.
[[noreturn]] void fail_to_start(const std::error_code& why);

class worker_pool final : public executor {
 public:
  /// Starts so many threads, or as many as the system lets it have. Throws std::system_error where it has none.
  explicit worker_pool(unsigned threads);
  ~worker_pool() override { join(); }

  /// Threads that were started.
  [[nodiscard]] unsigned size() const noexcept { return static_cast<unsigned>(threads_.size()); }

  void post(work_item& what) noexcept override;

  /// Runs a function, which does not throw. Throws std::bad_alloc.
  void post(std::function<void()> what);

  void note_task_begins() noexcept override;
  void note_task_ended() noexcept override;

  /// Waits until all tasks have ended and all that was posted has run, and ends the threads. Not on one of them.
  void join() noexcept;

 private:
  void work() noexcept;

  std::mutex mutex_;
  std::condition_variable posted_;
  work_queue waiting_{};
  std::size_t tasks_ = 0;
  unsigned idle_ = 0;  // threads that wait for `posted_`
  bool closing_ = false;
  std::atomic<unsigned> notifying_{0};  // posts that have yet to use `posted_`, for the last time
  std::vector<std::thread> threads_;
};

}  // namespace gpuhist::async
