// The threads that read files, decompress and count.
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

/// Throws std::system_error. Its message names the limits to raise.
[[noreturn]] void fail_to_start(const std::error_code& cause);

class worker_pool final : public executor {
 public:
  /// Starts `threads` threads, or fewer if the system permits no more. Throws std::system_error if none can be started.
  explicit worker_pool(unsigned threads);
  ~worker_pool() override { join(); }

  /// The number of threads that were started.
  [[nodiscard]] unsigned size() const noexcept { return static_cast<unsigned>(threads_.size()); }

  void post(work_item& item) noexcept override;

  /// Queues a function, which must not throw. Throws std::bad_alloc.
  void post(std::function<void()> function);

  void note_task_begins() noexcept override;
  void note_task_ended() noexcept override;

  /// Waits until all tasks have ended and all posted items have run. Then ends the threads. Not to be called on one of
  /// them.
  void join() noexcept;

 private:
  void work() noexcept;

  std::mutex mutex_;
  std::condition_variable posted_;
  work_queue waiting_{};
  std::size_t tasks_ = 0;
  unsigned idle_ = 0;  // threads that wait for posted_
  bool closing_ = false;
  std::atomic<unsigned> notifying_{0};  // calls of post() that will still use posted_
  std::vector<std::thread> threads_;
};

}  // namespace gpuhist::async
