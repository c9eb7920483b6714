// shared_work: every piece is done once, in order, by the threads of the pool and by the thread that needs it.
#include "pipeline/flow/decoding/shared_work.hpp"

#include "async/worker_pool.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

namespace gpuhist::pipeline {
namespace {

// Pieces are numbers, which are done by being written down.
class number_work final : public shared_work {
 public:
  using shared_work::shared_work;

  void add(int number) {
    const std::scoped_lock lock(mutex_);
    waiting_.push_back(number);
    post_jobs();
  }

  void wait_for(std::size_t wanted) {
    locked lock(mutex_);
    while (done_.size() < wanted) help_or_wait(lock);
  }

  std::vector<int> done() {
    const std::scoped_lock lock(mutex_);
    return done_;
  }

  unsigned most_at_once() {
    const std::scoped_lock lock(mutex_);
    return most_;
  }
  std::atomic<bool>* held = nullptr;  // pieces wait until it is set

 private:
  [[nodiscard]] std::size_t ready_pieces() const noexcept override { return waiting_.size(); }

  void do_oldest_piece(locked& lock) noexcept override {
    const int number = waiting_.front();
    waiting_.pop_front();
    most_ = std::max(most_, running());
    lock.unlock();
    if (held != nullptr) held->wait(false);
    lock.lock();
    done_.push_back(number);
  }

  std::deque<int> waiting_;
  std::vector<int> done_;
  unsigned most_ = 0;
};

TEST_CASE("each piece is done once, with any number of threads and jobs") {
  for (const unsigned threads : {1U, 2U, 4U}) {
    for (const unsigned jobs : {1U, 3U}) {
      CAPTURE(threads);
      CAPTURE(jobs);
      async::worker_pool pool(threads);
      const auto work = std::make_shared<number_work>(pool, jobs);
      std::vector<int> added;
      for (int i = 0; i < 500; ++i) {
        work->add(i);
        added.push_back(i);
      }
      work->wait_for(added.size());
      std::vector<int> done = work->done();
      std::ranges::sort(done);
      CHECK(done == added);
      CHECK(work->most_at_once() <= std::min(threads, jobs) + 1);  // and the thread that waits
      work->close();
      pool.join();
    }
  }
}

TEST_CASE("the thread that waits does the work, oldest first, while the pool does other work") {
  async::worker_pool pool(1);
  std::atomic<bool> released{false};
  std::atomic<bool> busy{false};
  pool.post([&] {
    busy = true;
    busy.notify_all();
    released.wait(false);
  });
  busy.wait(false);
  const auto work = std::make_shared<number_work>(pool, 1);
  for (const int i : {0, 1, 2}) work->add(i);
  work->wait_for(3);
  CHECK(work->done() == std::vector{0, 1, 2});
  released = true;
  released.notify_all();
  work->close();
  pool.join();
}

TEST_CASE("close() waits for the pieces in progress, and no other piece is begun") {
  async::worker_pool pool(2);
  std::atomic<bool> released{false};
  auto work = std::make_shared<number_work>(pool, 1);
  work->held = &released;
  for (const int i : {0, 1, 2, 3}) work->add(i);
  while (work->most_at_once() == 0) std::this_thread::yield();
  std::jthread releasing([&] {
    released = true;
    released.notify_all();
  });
  work->close();
  const std::vector<int> done = work->done();
  pool.join();
  CHECK(work->done() == done);
  CHECK(work.use_count() == 1);
}

TEST_CASE("an idle object is taken again, the last one first; without one there is null") {
  idle_objects<int> idle;
  CHECK_FALSE(idle.take());
  idle.keep(nullptr);
  CHECK_FALSE(idle.take());
  idle.keep(std::make_unique<int>(1));
  idle.keep(std::make_unique<int>(2));
  CHECK(*idle.take() == 2);
  CHECK(*idle.take() == 1);
  CHECK_FALSE(idle.take());
}

}  // namespace
}  // namespace gpuhist::pipeline
