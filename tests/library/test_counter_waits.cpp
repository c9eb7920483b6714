// Every wait of a counter ends when it is cancelled, and calls that would wait for themselves are refused.
#include "fed_text.hpp"

#include <gpuhist/counter.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace gpuhist {
namespace {

using testing::bytes_of;
using testing::error_of;

counting_options host() { return {.schemes = {"letters"}, .counting_engine = engine::host, .threads = 1}; }

// A counter whose callback for windows blocks, so that all of its buffers fill.
class blocked_counter {
 public:
  explicit blocked_counter(const std::stop_token& stop = {}) {
    counting_options options = host();
    options.windows = window_options{.length = 16};
    options.stop = stop;
    made_.emplace(options, counting_events{.on_window = [this](const window&) {
                    is_blocked_ = true;
                    released_.wait();
                  }});
    fed_.emplace(made_->open_input("text"));
  }
  blocked_counter(const blocked_counter&) = delete;
  blocked_counter& operator=(const blocked_counter&) = delete;
  ~blocked_counter() { release(); }

  // Until the calling thread can feed no more.
  std::optional<errc> feed_until_refused() {
    return error_of([&] {
      for (;;) fed_->feed(std::string(50'000, 'a'));
    });
  }

  void wait_until_blocked() const {
    while (!is_blocked_) std::this_thread::yield();
  }

  void release() {
    if (!std::exchange(is_released_, true)) may_continue_.set_value();
  }

  counter& counts() { return *made_; }
  input& fed() { return *fed_; }

 private:
  std::promise<void> may_continue_;
  std::shared_future<void> released_ = may_continue_.get_future().share();
  std::atomic<bool> is_blocked_ = false;
  bool is_released_ = false;
  std::optional<counter> made_;
  std::optional<input> fed_;
};

}  // namespace

TEST_CASE("a cancelled counter ends the waits of feed() and snapshot(), even while a callback blocks") {
  blocked_counter blocked;
  std::optional<errc> of_feed;
  std::optional<errc> of_snapshot;
  {
    std::jthread feeding([&] { of_feed = blocked.feed_until_refused(); });
    blocked.wait_until_blocked();
    std::jthread snapshotting([&] {
      of_snapshot = error_of([&] {
        for (;;) static_cast<void>(blocked.counts().snapshot());
      });
    });
    blocked.counts().cancel();
  }  // the callback still blocks
  CHECK(of_feed == errc::closed);
  CHECK(of_snapshot == errc::closed);
  blocked.release();
  CHECK_FALSE(blocked.counts().finish().complete());
}

TEST_CASE("a stop token ends the same waits") {
  std::stop_source stop;
  blocked_counter blocked(stop.get_token());
  std::optional<errc> of_feed;
  {
    std::jthread feeding([&] { of_feed = blocked.feed_until_refused(); });
    blocked.wait_until_blocked();
    stop.request_stop();
  }
  CHECK(of_feed == errc::closed);
}

TEST_CASE("finish() waits for feeding threads, which a cancelled counter ends") {
  blocked_counter blocked;
  std::jthread feeding([&] { CHECK(blocked.feed_until_refused() == errc::closed); });
  blocked.wait_until_blocked();
  std::jthread cancelling([&] {
    blocked.counts().cancel();
    feeding.join();
    blocked.release();
  });
  CHECK_FALSE(blocked.counts().finish().complete());
}

TEST_CASE("of two threads that feed one input, one is refused while the other one waits") {
  blocked_counter blocked;
  std::atomic<int> refused = 0;
  std::atomic<int> ended = 0;
  {
    std::vector<std::jthread> feeding;
    for (int i = 0; i < 2; ++i) {
      feeding.emplace_back([&] {
        const auto error = blocked.feed_until_refused();
        ++(error == errc::misuse ? refused : ended);
      });
    }
    while (refused == 0) std::this_thread::yield();
    CHECK(ended == 0);
    blocked.counts().cancel();
  }
  CHECK(refused == 1);
  CHECK(ended == 1);
}

TEST_CASE("in a release callback every call but cancel() is misuse, also where the callback is destroyed") {
  // small text is released within the call, large text by the pool
  for (const std::size_t size : {std::size_t{3}, std::size_t{9} << 20U}) {
    CAPTURE(size);
    counter counts(host());
    input text = counts.open_input("text");
    input other = counts.open_input("other");
    std::vector<std::optional<errc>> found;
    const auto call_all = [&] {
      found.push_back(error_of([&] { other.feed("a"); }));
      found.push_back(error_of([&] { other.feed_borrowed(bytes_of("a"), [] {}); }));
      found.push_back(error_of([&] { static_cast<void>(other.lend()); }));
      found.push_back(error_of([&] { other.finish(); }));
      found.push_back(error_of([&] { static_cast<void>(counts.open_input("x")); }));
      found.push_back(error_of([&] { static_cast<void>(counts.snapshot()); }));
      found.push_back(error_of([&] { counts.finish(); }));
    };
    const std::string bytes(size, 'a');
    {
      auto captured = std::shared_ptr<void>(nullptr, [&](void*) { call_all(); });
      text.feed_borrowed(bytes_of(bytes), [&call_all, kept = std::move(captured)] { call_all(); });
    }
    text.finish();
    other.finish();
    CHECK(counts.finish().complete());
    CHECK(found == std::vector<std::optional<errc>>(14, errc::misuse));
  }
}

TEST_CASE("a release callback may cancel the counter") {
  counter counts(host());
  input text = counts.open_input("text");
  text.feed_borrowed(bytes_of("abc"), [&] { counts.cancel(); });
  CHECK(error_of([&] { text.feed("a"); }) == errc::closed);
  CHECK_FALSE(counts.finish().complete());
}

TEST_CASE("a callback may destroy the counter, its inputs and buffers: the threads end after the callback") {
  std::thread([] {}).join();  // the thread sanitizer starts a thread of its own with the first one
  const std::ptrdiff_t threads = testing::entries("/proc/self/task");
  for (const std::size_t size : {std::size_t{3}, std::size_t{9} << 20U}) {
    CAPTURE(size);
    auto counts = std::make_unique<counter>(host());
    auto text = std::make_unique<input>(counts->open_input("text"));
    auto other = std::make_unique<input>(counts->open_input("other"));
    auto buffer = std::make_unique<lent_buffer>(other->lend(10));
    const std::string bytes(size, 'a');
    std::promise<void> is_released;
    try {
      text->feed_borrowed(bytes_of(bytes), [&] {
        buffer.reset();
        other.reset();
        counts.reset();
        is_released.set_value();
      });
    } catch (const error& thrown) {
      CHECK(thrown.kind() == errc::closed);  // the parts after the first one
    }
    is_released.get_future().wait();
    CHECK(error_of([&] { text->feed("a"); }) == errc::closed);
    while (testing::entries("/proc/self/task") > threads) std::this_thread::yield();
  }
}

TEST_CASE("a callback of one counter may use another counter") {
  counter first(host());
  counter second(host());
  input to_first = first.open_input("text");
  input to_second = second.open_input("text");
  to_first.feed_borrowed(bytes_of("abc"), [&] { to_second.feed("defg"); });
  CHECK(first.finish().bytes() == 3);
  CHECK(second.finish().bytes() == 4);
}

TEST_CASE("lent buffers and finish() on different threads: the counter is complete, or finish() is refused") {
  for (int round = 0; round < 200; ++round) {
    counter counts(host());
    input text = counts.open_input("text");
    std::atomic<std::uint64_t> committed = 0;
    std::jthread lending([&] {
      static_cast<void>(error_of([&] {
        for (;;) {
          lent_buffer buffer = text.lend(1);
          buffer.bytes()[0] = std::byte{'a'};
          buffer.commit(1);
          ++committed;
        }
      }));
    });
    std::optional<results> finished;
    while (!finished) {
      const auto refused = error_of([&] { finished = counts.finish(); });
      if (refused) CHECK(*refused == errc::misuse);
    }
    lending.join();
    CHECK(finished->complete());
    CHECK(finished->bytes() == committed);
  }
}

TEST_CASE("an input that is destroyed before it is finished has failed, by an exception or not") {
  counter counts(host());
  {
    input dropped = counts.open_input("dropped");
    dropped.feed("abc");
  }
  try {
    input unwound = counts.open_input("unwound");
    unwound.feed("abc");
    throw std::runtime_error("the connection was reset");
  } catch (const std::runtime_error&) {
  }
  std::optional<lent_buffer> kept;
  {
    input lending = counts.open_input("lending");
    kept.emplace(lending.lend(100));
  }
  CHECK(error_of([&] { kept->commit(1); }) == errc::misuse);
  input open = counts.open_input("open");
  open.feed("abc");
  const results result = counts.finish();
  CHECK_FALSE(result.complete());
  for (const std::size_t i : {0U, 1U, 2U}) {
    CHECK(result.input(i).kind == failure::stopped);
    CHECK(result.input(i).error == "was destroyed before it was finished");
  }
  CHECK(result.input(3).complete);
  CHECK(result.bytes() == 9);
}

TEST_CASE("a counter that is cancelled at any moment neither hangs nor counts a byte twice") {
  for (unsigned round = 0; round < 60; ++round) {
    const std::string large(300'000, 'b');  // until finish(): it is borrowed
    counter counts(host());
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        static_cast<void>(error_of([&] {
          input text = counts.open_input("text");
          const std::string small(1000 * i + 1, 'a');
          for (;;) {
            text.feed(small);
            text.feed_borrowed(bytes_of(large), [] {});
            lent_buffer buffer = text.lend();
            buffer.bytes()[0] = std::byte{'c'};
            buffer.commit(1);
            static_cast<void>(counts.snapshot());
          }
        }));
      });
    }
    std::this_thread::sleep_for(std::chrono::microseconds(200 * round));
    counts.cancel();
    threads.clear();
    const results result = counts.finish();
    CHECK_FALSE(result.complete());
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < result.inputs(); ++i) sum += result.input(i).bytes;
    CHECK(sum == result.bytes());
  }
}

TEST_CASE("eight threads feed, borrow and lend while snapshots hold everything that was acknowledged before") {
  counter counts(host());
  std::atomic<std::uint64_t> acknowledged = 0;
  std::atomic<bool> has_ended = false;
  std::jthread snapshotting([&] {
    while (!has_ended) {
      const std::uint64_t before = acknowledged;
      CHECK(counts.snapshot().bytes() >= before);
    }
  });
  {
    std::vector<std::jthread> feeding;
    for (unsigned i = 0; i < 8; ++i) {
      feeding.emplace_back([&, i] {
        input text = counts.open_input("text");
        const std::string bytes(i % 2 == 0 ? 70'000 : 700, 'x');
        for (int n = 0; n < 100; ++n) {
          text.feed(bytes);
          acknowledged += bytes.size();
          lent_buffer buffer = text.lend(100);
          std::fill(buffer.bytes().begin(), buffer.bytes().end(), std::byte{'y'});
          buffer.commit(100);
          acknowledged += 100;
        }
        text.finish();
      });
    }
  }
  has_ended = true;
  snapshotting.join();
  const results result = counts.finish();
  CHECK(result.complete());
  CHECK(result.bytes() == acknowledged);
}

}  // namespace gpuhist
