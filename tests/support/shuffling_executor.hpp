// An executor for tests: one thread, which runs the posted items in random order. So coroutines resume in orders that a
// pool has only where a thread is interrupted for long.
#pragma once

#include "async/executor.hpp"

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace gpuhist::test {

class shuffling_executor final : public async::executor {
 public:
  explicit shuffling_executor(unsigned seed) : random_(seed), worker_([this] { work(); }) {}
  /// Waits until all tasks have ended and all posted items have run.
  ~shuffling_executor() override {
    {
      const std::scoped_lock lock(mutex_);
      closing_ = true;
    }
    changed_.notify_all();
    worker_.join();
  }

  void post(async::work_item& item) noexcept override {
    const std::scoped_lock lock(mutex_);
    posted_.push_back(&item);
    changed_.notify_all();
  }
  void note_task_begins() noexcept override {
    const std::scoped_lock lock(mutex_);
    ++tasks_;
  }
  void note_task_ended() noexcept override {
    const std::scoped_lock lock(mutex_);
    --tasks_;
    changed_.notify_all();
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return !posted_.empty() || (closing_ && tasks_ == 0); });
      if (posted_.empty()) return;
      std::swap(posted_[random_() % posted_.size()], posted_.back());
      async::work_item& next = *posted_.back();
      posted_.pop_back();
      lock.unlock();
      next.run();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<async::work_item*> posted_;
  std::size_t tasks_ = 0;
  bool closing_ = false;
  std::minstd_rand random_;
  std::thread worker_;
};

}  // namespace gpuhist::test
