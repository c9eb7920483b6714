// Tasks, semaphores, groups, channels, alarms, wakeups and worker pools.
#include "async/channel.hpp"
#include "async/event_loop.hpp"
#include "async/semaphore.hpp"
#include "async/task_group.hpp"
#include "async/worker_pool.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace gpuhist;

namespace {

const auto ignore = [](const std::exception_ptr&) noexcept {};

async::task<int> number(int value) { co_return value; }

async::task<> throws() {
  throw std::runtime_error("thrown");
  co_return;
}

async::task<std::uint64_t> sum_of_many(std::uint64_t count) {
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < count; ++i) sum += static_cast<std::uint64_t>(co_await number(1));
  co_return sum;
}

async::task<> take(async::semaphore& from, std::uint64_t units, std::vector<async::semaphore::permit>& to) {
  to.push_back(co_await from.acquire(units));
}

}  // namespace

TEST_CASE("a million coroutines that end without waiting, in sequence, do not use more stack than one") {
  async::worker_pool pool(1);
  CHECK(async::run_blocking(pool, sum_of_many(1'000'000)) == 1'000'000);
}

TEST_CASE("an exception of a task is thrown where the task is awaited, whichever executor it ran on") {
  async::worker_pool pool(2);
  async::worker_pool other(1);
  CHECK_THROWS_WITH(async::run_blocking(pool, throws()), "thrown");
  CHECK_THROWS_WITH(async::run_blocking(pool, async::run_on(other, throws())), "thrown");
  CHECK(async::run_blocking(pool, async::run_on(other, number(7))) == 7);
}

TEST_CASE("a task that is run here runs on the calling thread, also after it was on another executor") {
  async::worker_pool other(1);
  std::vector<std::thread::id> threads;
  const auto note = [&]() -> async::task<> {
    threads.push_back(std::this_thread::get_id());
    co_return;
  };
  const auto task = [&]() -> async::task<> {
    co_await note();
    co_await async::run_on(other, note());
    co_await note();
    co_await async::yield();
    co_await note();
  };
  async::run_here(task());
  REQUIRE(threads.size() == 4);
  CHECK(threads[0] == std::this_thread::get_id());
  CHECK(threads[1] != threads[0]);
  CHECK(threads[2] == threads[0]);
  CHECK(threads[3] == threads[0]);
  CHECK_THROWS_WITH(async::run_here(throws()), "thrown");
  CHECK_THROWS_WITH(async::run_here(async::run_on(other, throws())), "thrown");
}

TEST_CASE("permits are granted in the order of the requests, and only returned permits are granted again") {
  async::event_loop loop;
  async::semaphore five(5);
  std::vector<async::semaphore::permit> first;
  std::vector<async::semaphore::permit> large;
  std::vector<async::semaphore::permit> small;
  async::spawn(loop, take(five, 3, first), ignore);
  async::spawn(loop, take(five, 4, large), ignore);
  async::spawn(loop, take(five, 1, small), ignore);
  loop.poll();
  CHECK(first.size() == 1);
  CHECK(large.empty());
  CHECK(small.empty());  // one is available, but this request is not the next
  CHECK_FALSE(five.try_acquire());
  first.clear();
  loop.poll();
  CHECK(large.size() == 1);
  CHECK(small.size() == 1);
  large.clear();
  CHECK(five.try_acquire(4));
  CHECK_FALSE(five.try_acquire(5));
}

TEST_CASE(
    "closing a semaphore ends all waits with an empty permit, and permits that were granted can still be returned") {
  async::event_loop loop;
  async::semaphore one(1);
  std::vector<async::semaphore::permit> granted;
  for (int i = 0; i < 3; ++i) async::spawn(loop, take(one, 1, granted), ignore);
  loop.poll();
  REQUIRE(granted.size() == 1);
  one.close();
  loop.poll();
  REQUIRE(granted.size() == 3);
  CHECK(granted[0]);
  CHECK_FALSE(granted[1]);
  CHECK_FALSE(granted[2]);
}

TEST_CASE("a thread waits for a permit in the order of the requests, and until a stop is requested") {
  async::event_loop loop;
  async::semaphore one(1);
  std::vector<async::semaphore::permit> granted;
  async::spawn(loop, take(one, 1, granted), ignore);
  loop.poll();
  REQUIRE(granted.size() == 1);
  std::stop_source stop;
  std::atomic<int> ended = 0;
  std::jthread stopped([&] { ended += one.acquire_blocking(stop.get_token()) ? 100 : 1; });
  stop.request_stop();
  stopped.join();
  CHECK(ended == 1);
  CHECK_FALSE(one.acquire_blocking(stop.get_token()));
  std::jthread served([&] { ended += one.acquire_blocking({}) ? 10 : 1; });
  granted.clear();
  served.join();
  CHECK(ended == 11);
  CHECK(one.try_acquire());
}

TEST_CASE("a thread that stops waiting lets those that wait after it have what they need") {
  async::event_loop loop;
  async::semaphore two(2);
  std::vector<async::semaphore::permit> granted;
  async::spawn(loop, take(two, 1, granted), ignore);
  loop.poll();
  std::stop_source stop;
  std::atomic<bool> is_served = true;
  std::jthread large([&] { is_served = static_cast<bool>(two.acquire_blocking(stop.get_token(), 2)); });
  while (two.try_acquire()) std::this_thread::yield();  // until the thread waits
  async::spawn(loop, take(two, 1, granted), ignore);
  loop.poll();
  CHECK(granted.size() == 1);
  stop.request_stop();
  large.join();
  loop.poll();
  CHECK_FALSE(is_served);
  CHECK(granted.size() == 2);
}

TEST_CASE("at most as many tasks hold a permit as there are permits, whatever the threads, and all get their turn") {
  constexpr int tasks = 2000;
  async::worker_pool pool(4);
  async::first_failure failures;
  async::task_group group(failures);
  async::semaphore three(3);
  std::atomic<int> holding = 0;
  std::atomic<int> max_holding = 0;
  std::atomic<int> served = 0;
  const auto hold = [&]() -> async::task<> {
    const async::semaphore::permit held = co_await three.acquire();
    const int current = ++holding;
    for (int previous = max_holding; current > previous && !max_holding.compare_exchange_weak(previous, current);) {
    }
    co_await async::yield();
    --holding;
    ++served;
  };
  for (int i = 0; i < tasks; ++i) group.spawn(pool, hold());
  const auto wait = [&]() -> async::task<> { co_await group.ended(); };
  async::run_blocking(pool, wait());
  CHECK(served == tasks);
  CHECK(max_holding <= 3);
}

TEST_CASE("the first failure of a group is kept and requests a stop, and the group ends after all its tasks") {
  async::worker_pool pool(2);
  std::stop_source stop;
  async::first_failure failures(stop);
  async::task_group group(failures);
  async::event release_last;
  std::atomic<bool> last_ended = false;
  const auto last = [&]() -> async::task<> {
    co_await release_last.wait();
    last_ended = true;
  };
  group.spawn(pool, last());
  group.spawn(pool, throws());
  while (!stop.stop_requested()) std::this_thread::yield();
  CHECK(group.size() >= 1);
  release_last.set();
  const auto wait = [&]() -> async::task<> { co_await group.ended(); };
  async::run_blocking(pool, wait());
  CHECK(last_ended);
  CHECK_THROWS_WITH(failures.rethrow(), "thrown");
}

TEST_CASE("a channel returns values in the order in which they were pushed, then its end repeatedly") {
  async::worker_pool pool(2);
  async::channel<std::string> channel;
  const auto collect = [](async::channel<std::string>& from) -> async::task<std::string> {
    std::string all;
    for (int i = 0; i < 5; ++i) all += co_await from.take();
    co_return all;
  };
  channel.push("a");
  channel.push("b");
  channel.end("c");
  channel.push("never");
  channel.end("never");
  CHECK(async::run_blocking(pool, collect(channel)) == "abccc");
}

TEST_CASE("a cancelled alarm throws, even if it expired before the coroutine was resumed") {
  async::event_loop loop;
  async::alarm alarm(loop);
  int waited = 0;
  bool ended = false;
  const auto wait = [&]() -> async::task<> {
    for (;; ++waited) {
      alarm.set(std::chrono::milliseconds(0));
      co_await alarm.wait();
      alarm.cancel();
    }
  };
  async::spawn(loop, wait(), [&](const std::exception_ptr& error) noexcept {
    ended = true;
    CHECK_THROWS_AS(std::rethrow_exception(error), async::wait_ended);
  });
  loop.run_until([&] { return ended; });
  CHECK(waited == 1);
  CHECK_FALSE(loop.has_tasks());
}

TEST_CASE("a coroutine that notifies itself repeatedly lets others have their turn, and close() ends it") {
  constexpr int max_turns = 1'000'000;  // reached if no other coroutine gets a turn
  async::event_loop loop;
  async::wakeup wakeup;
  int waited = 0;
  bool ended = false;
  const auto notify_itself = [&]() -> async::task<> {
    while (waited < max_turns) {
      wakeup.notify();
      co_await wakeup.wait();
      ++waited;
    }
  };
  const auto close_after = [&](int turns) -> async::task<> {
    for (; turns > 0; --turns) co_await async::yield();
    wakeup.close();
  };
  async::spawn(loop, notify_itself(), [&](const std::exception_ptr& error) noexcept {
    ended = true;
    CHECK(error);
    if (error) CHECK_THROWS_AS(std::rethrow_exception(error), async::wait_ended);
  });
  async::spawn(loop, close_after(5), ignore);
  loop.run_until([&] { return ended; });
  CHECK(waited >= 1);
  CHECK(waited <= 6);
  CHECK_FALSE(loop.has_tasks());
}

TEST_CASE("no notification is lost: after the last one the waiting task runs again, whichever threads notify") {
  constexpr int notifiers = 3;
  constexpr int times = 20'000;
  async::worker_pool pool(2);
  async::worker_pool others(notifiers);
  async::wakeup wakeup;
  std::atomic<int> notified = 0;
  const auto wait_for_all = [&]() -> async::task<int> {
    int counted = 0;
    while (counted < notifiers * times) {
      co_await wakeup.wait();
      counted = notified;
    }
    co_return counted;
  };
  for (int i = 0; i < notifiers; ++i) {
    others.post([&] {
      for (int time = 0; time < times; ++time) {
        ++notified;
        wakeup.notify();
      }
    });
  }
  CHECK(async::run_blocking(pool, wait_for_all()) == notifiers * times);
}

TEST_CASE("join() of a pool returns after all posted items have run and all tasks have ended") {
  std::atomic<int> ran = 0;
  async::semaphore one(1);
  {
    async::worker_pool pool(3);
    CHECK(pool.size() == 3);
    for (int i = 0; i < 100; ++i) pool.post([&] { ++ran; });
    const auto waits = [&]() -> async::task<> {
      const async::semaphore::permit held = co_await one.acquire();
      co_await async::yield();
      ++ran;
    };
    for (int i = 0; i < 100; ++i) async::spawn(pool, waits(), ignore);
  }
  CHECK(ran == 200);
}

TEST_CASE("a pool may be destroyed as soon as the last item has run, even if post() has not returned") {
  struct flag final : async::work_item {
    void run() noexcept override {
      raised = true;
      raised.notify_one();
    }
    std::atomic<bool> raised = false;
  };
  async::worker_pool poster(1);
  for (int i = 0; i < 500; ++i) {
    auto pool = std::make_unique<async::worker_pool>(2);
    flag last;
    async::worker_pool& target = *pool;
    poster.post([&target, &last] { target.post(last); });
    last.raised.wait(false);
    pool.reset();  // a sanitizer reports any later access by post()
  }
}
