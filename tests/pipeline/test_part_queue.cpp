// shared_work: every piece is done once, in order, by the threads of the pool and by the thread that needs it.
// part_queue: blocks come out in order, whichever thread decodes their parts, and parts come out linked and finished.
#include "async/worker_pool.hpp"
#include "pipeline/flow/decoding/part_queue.hpp"
#include "pipeline/flow/decoding/shared_work.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <new>
#include <random>
#include <set>
#include <span>
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

namespace {

// What the parts of a test have in common.
struct part_log {
  std::atomic<int> decoded{0};
  std::atomic<int> alive{0};
  std::atomic<bool> misused{false};
  std::mutex mutex;
  std::set<std::thread::id> threads;  // that decoded
  std::uint64_t seen_after = 0;       // bytes of look-ahead, of all parts
  bool fails = false;                 // decoding throws std::bad_alloc
  std::uint64_t lead_every = 0;  // every so many bytes begins a part that does not lead on until it is taken; 0: none
  std::atomic<int> led{0};       // parts that were linked to one that leads on
};

part_log* log_of_test = nullptr;

class logged_part final : public io::decoded_part {
 public:
  explicit logged_part(const io::part_input& input) : offset(input.offset), size(input.size) { ++log_of_test->alive; }
  ~logged_part() override { --log_of_test->alive; }

  void link(const io::decoded_part* before) override {
    if (linked || finished) log_of_test->misused = true;
    if (before != nullptr) {
      const auto& part = dynamic_cast<const logged_part&>(*before);
      if (!part.linked || part.offset + part.size != offset) log_of_test->misused = true;
      if (part.leads_on) ++log_of_test->led;
    }
    has_before = before != nullptr;
    linked = true;
  }
  void finish() override {
    if (!linked || finished) log_of_test->misused = true;
    finished = true;
  }
  void join(const io::decoded_part* before) override {
    if (!finished || joined) log_of_test->misused = true;
    if (before != nullptr && !dynamic_cast<const logged_part&>(*before).joined) log_of_test->misused = true;
    if ((before != nullptr) != has_before) log_of_test->misused = true;
    joined = true;
  }

  [[nodiscard]] bool is_linked() const override { return leads_on; }

  std::uint64_t offset;
  std::uint64_t size;
  mutable std::atomic<bool> leads_on = log_of_test->lead_every == 0 || offset % log_of_test->lead_every != 0;
  bool has_before = false;
  bool linked = false;
  bool finished = false;
  bool joined = false;
};

class logged_decoder final : public io::part_decoder {
 public:
  std::unique_ptr<io::decoded_part> decode(const io::part_input& input) override {
    std::uint64_t bytes = 0;
    for (const auto piece : input.pieces) {
      for (const std::byte each : piece) {
        if (each != static_cast<std::byte>((input.offset + bytes++) % 251)) log_of_test->misused = true;
      }
    }
    if (bytes < input.size) log_of_test->misused = true;
    ++log_of_test->decoded;
    {
      const std::scoped_lock lock(log_of_test->mutex);
      log_of_test->threads.insert(std::this_thread::get_id());
      log_of_test->seen_after += bytes - input.size;
    }
    if (log_of_test->fails) throw std::bad_alloc();
    return std::make_unique<logged_part>(input);
  }
};

std::unique_ptr<io::part_decoder> make_logged() { return std::make_unique<logged_decoder>(); }

block block_of(std::uint64_t offset, std::size_t size) {
  auto bytes = std::make_shared<std::vector<std::byte>>(size);
  for (std::size_t i = 0; i < size; ++i) (*bytes)[i] = static_cast<std::byte>((offset + i) % 251);
  const std::span<const std::byte> all(*bytes);
  return {.memory = {bytes, bytes->data()}, .bytes = all};
}

part_queue::settings settings_of(std::size_t part, std::size_t after, unsigned threads) {
  return {.format = {.make = make_logged, .part_bytes = part, .look_ahead_bytes = after},
          .threads = threads,
          .max_parts = threads + 1,
          .max_part_bytes = 10,
          .max_blocks = 1000};
}

struct taken {
  std::uint64_t bytes = 0;
  std::size_t parts = 0;
};

// Pushes blocks of random sizes while the queue wants them and takes everything. The test fails on wrong order.
taken run(part_queue& queue, std::uint64_t total, std::mt19937& random, bool may_wait, bool joins = false) {
  taken result;
  std::uint64_t pushed = 0;
  const auto push = [&] {
    const std::size_t size = std::min<std::uint64_t>(total - pushed, 1 + random() % 300);
    if (size == 0) return queue.push({.end = true});
    queue.push(block_of(pushed, size));
    pushed += size;
  };
  for (;;) {
    while (queue.wants_more() && random() % 8 != 0) push();
    auto next = queue.take(may_wait);
    if (!next) {
      push();
      continue;
    }
    if (next->bytes.end) return result;
    REQUIRE(next->bytes.bytes.front() == static_cast<std::byte>(result.bytes % 251));
    if (next->part) {
      const auto& part = dynamic_cast<const logged_part&>(*next->part);
      REQUIRE(part.finished);
      REQUIRE(part.joined == joins);
      REQUIRE(part.offset == result.bytes);
      ++result.parts;
    }
    result.bytes += next->bytes.bytes.size();
  }
}

// Sets the log of this test for its duration.
class logging {
 public:
  logging() { log_of_test = &log; }
  ~logging() { log_of_test = nullptr; }
  part_log log;
};

constexpr std::size_t all_memory = 100;

// After a queue was destroyed: it has returned its memory, no part is left, and no call was made that it must not make.
void check_nothing_is_left(const part_log& log, async::worker_pool& pool, async::semaphore& memory) {
  CHECK(memory.try_acquire(all_memory));
  pool.join();
  CHECK(log.alive == 0);
  CHECK_FALSE(log.misused);
}

TEST_CASE("all blocks come out in order, and each part once, linked, finished and joined, with 1 to 4 threads") {
  std::mt19937 random(1);
  for (const unsigned threads : {1U, 2U, 4U}) {
    for (int round = 0; round < 60; ++round) {
      CAPTURE(threads);
      CAPTURE(round);
      logging scope;
      async::worker_pool pool(threads);
      async::semaphore memory(all_memory);
      stage_clock clock;
      const std::size_t part = 1 + random() % 2000;
      const std::uint64_t total = random() % 40000;
      {
        part_queue::settings options = settings_of(part, random() % 700, threads);
        options.format.joins = round % 2 == 0;
        options.format.shared_bytes = round % 3 == 0 ? 20 : 0;
        options.format.decoder_is_faster = round % 5 < 2;
        options.is_in_pool = round % 7 != 0;
        if (round % 4 == 0) options.max_parts = 2;
        part_queue queue(options, pool, memory, clock);
        const taken all = run(queue, total, random, true, options.format.joins);
        CHECK(all.bytes == total);
        CHECK(all.parts == static_cast<std::size_t>(scope.log.decoded));
        if (total > 0 && !options.format.decoder_is_faster) CHECK(all.parts > 0);
      }
      check_nothing_is_left(scope.log, pool, memory);
    }
  }
}

TEST_CASE("a decoder that is faster is left the first parts, and decodes those that no thread has begun") {
  logging scope;
  async::worker_pool pool(2);
  async::semaphore memory(all_memory);
  stage_clock clock;
  {
    part_queue::settings options = settings_of(100, 0, 2);
    options.format.decoder_is_faster = true;
    options.max_parts = 8;
    part_queue queue(options, pool, memory, clock);
    for (std::uint64_t part = 0; part < 8; ++part) queue.push(block_of(100 * part, 100));
    CHECK(queue.wants_more());  // all parts have begun
    queue.push({.end = true});
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (scope.log.decoded < 6 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    for (std::uint64_t part = 0; part < 8; ++part) {
      CAPTURE(part);
      const auto next = queue.take(true);
      REQUIRE(next);
      CHECK((next->part != nullptr) == (part >= 2));
    }
    CHECK(scope.log.decoded == 6);
  }
  check_nothing_is_left(scope.log, pool, memory);
}

TEST_CASE("a part is linked when the one before it leads on, or the decoder has passed by that one") {
  for (const bool is_taken_over : {true, false}) {
    for (const unsigned threads : {1U, 4U}) {
      CAPTURE(is_taken_over);
      CAPTURE(threads);
      logging scope;
      scope.log.lead_every = 300;
      async::worker_pool pool(threads);
      async::semaphore memory(all_memory);
      stage_clock clock;
      int parts = 0;
      {
        part_queue queue(settings_of(100, 0, threads), pool, memory, clock);
        std::uint64_t pushed = 0;
        for (std::uint64_t at = 0; at < 3000;) {
          for (; queue.wants_more() && pushed < 3000; pushed += 100) queue.push(block_of(pushed, 100));
          if (pushed == 3000) queue.push({.end = true});
          const auto next = queue.take(true);
          if (!next) continue;
          at += next->bytes.bytes.size();
          if (!next->part) continue;
          ++parts;
          if (is_taken_over) dynamic_cast<const logged_part&>(*next->part).leads_on = true;
        }
      }
      CHECK(parts == 30);
      CHECK(scope.log.led == (is_taken_over ? 29 : 19));
      check_nothing_is_left(scope.log, pool, memory);
    }
  }
}

TEST_CASE("parts that begin with frames end where they are ended, whatever the number of their blocks") {
  logging scope;
  async::worker_pool pool(2);
  async::semaphore memory(all_memory);
  stage_clock clock;
  part_queue::settings options = settings_of(part_queue::any_size, 0, 2);
  options.max_blocks = 4;
  part_queue queue(options, pool, memory, clock);
  std::vector<std::uint64_t> begins;
  std::uint64_t pushed = 0;
  for (const std::size_t blocks : {1, 3, 2, 4}) {
    begins.push_back(pushed);
    for (std::size_t i = 0; i < blocks; ++i, pushed += 10) queue.push(block_of(pushed, 10));
    queue.end_part({.frames = begins.size(), .compressed_bytes = pushed});
  }
  std::vector<std::uint64_t> came;
  for (std::uint64_t at = 0; at < 100; at += 10) {
    const auto next = queue.take(true);
    REQUIRE(next);
    if (next->part) came.push_back(at);
  }
  CHECK(came == begins);
  for (int i = 0; i < 3; ++i, pushed += 10) queue.push(block_of(pushed, 10));
  CHECK(queue.wants_more());
  queue.push(block_of(pushed, 10));
  CHECK_FALSE(queue.wants_more());  // the part that is collected has max_blocks
  const auto rest = queue.take(true);
  REQUIRE(rest);
  CHECK_FALSE(rest->part);
}

TEST_CASE("without memory for parts, while threads decode other inputs, or paused, blocks come out without parts") {
  std::mt19937 random(2);
  enum class reason { no_memory, no_shared_memory, busy, paused };
  for (const reason why : {reason::no_memory, reason::no_shared_memory, reason::busy, reason::paused}) {
    logging scope;
    async::worker_pool pool(2);
    async::semaphore memory(why == reason::no_memory ? 9 : all_memory);
    stage_clock clock;
    if (why == reason::busy) clock.now_in_flight = 2;
    part_queue::settings options = settings_of(100, 10, 2);
    if (why == reason::no_shared_memory) options.format.shared_bytes = all_memory + 1;
    part_queue queue(options, pool, memory, clock);
    queue.pause(why == reason::paused);
    const taken all = run(queue, 5000, random, true);
    CHECK(all.bytes == 5000);
    CHECK(all.parts == 0);
    CHECK(scope.log.decoded == 0);
  }
}

TEST_CASE("an input that is one of several has its share of the parts in progress, and at least two") {
  struct row {
    std::size_t inputs, shared_bytes, allowed;
    bool needs_idle_threads = true;
  };
  for (const row each :
       {row{0, 0, 8}, row{1, 0, 8}, row{2, 0, 5}, row{2, 12, 3}, row{3, 0, 3}, row{7, 20, 2}, row{7, 0, 8, false}}) {
    CAPTURE(each.inputs);
    logging scope;
    async::worker_pool pool(1);
    async::semaphore memory(all_memory);
    stage_clock clock;
    clock.now_in_flight = each.inputs;
    part_queue::settings options = settings_of(10, 0, 8);
    options.max_parts = 8;
    options.memory_bytes = all_memory;
    options.format.shared_bytes = each.shared_bytes;
    options.format.needs_idle_threads = each.needs_idle_threads;
    const std::size_t used = each.allowed * options.max_part_bytes + each.shared_bytes;
    {
      part_queue queue(options, pool, memory, clock);
      std::size_t pushed = 0;
      for (; queue.wants_more(); ++pushed) queue.push(block_of(10 * pushed, 10));
      CHECK(pushed == each.allowed + 1);  // and one that waits
      CHECK(memory.try_acquire(all_memory - used));
      CHECK_FALSE(memory.try_acquire(all_memory - used + 1));
    }
    check_nothing_is_left(scope.log, pool, memory);
  }
}

TEST_CASE("so many inputs as half of the threads have memory for two parts each, or there are no parts") {
  io::part_format format{.make = make_logged, .shared_bytes = 32, .memory_bytes = 8};
  CHECK(shares_of(format, 1, 1000).parts == 0);
  CHECK(shares_of(format, 2, 31).parts == 0);
  CHECK(shares_of(format, 2, 32 + 15).parts == 0);
  CHECK(shares_of(format, 2, 32 + 16).parts == 2);
  for (const unsigned threads : {2U, 4U, 16U, 64U}) {
    CAPTURE(threads);
    const std::uint64_t memory = 128 * threads;
    const part_shares shares = shares_of(format, threads, memory);
    CHECK(shares.parts == pieces_ahead(threads));
    CHECK(threads / 2 * (format.shared_bytes + 2 * shares.bytes) <= memory);
  }
}

TEST_CASE("a part that finds no memory is decoded by the decoder alone") {
  std::mt19937 random(3);
  logging scope;
  scope.log.fails = true;
  async::worker_pool pool(2);
  async::semaphore memory(all_memory);
  stage_clock clock;
  part_queue queue(settings_of(100, 10, 2), pool, memory, clock);
  const taken all = run(queue, 5000, random, true);
  CHECK(all.bytes == 5000);
  CHECK(all.parts == 0);
  CHECK(scope.log.decoded > 0);
}

TEST_CASE("a slow stream is decoded without delay, and a queue that holds all blocks does not wait for more") {
  logging scope;
  async::worker_pool pool(2);
  async::semaphore memory(all_memory);
  stage_clock clock;
  part_queue::settings options = settings_of(1000, 0, 2);
  options.max_blocks = 3;
  part_queue queue(options, pool, memory, clock);
  queue.push(block_of(0, 10));
  CHECK_FALSE(queue.take(true));
  const auto first = queue.take(false);
  REQUIRE(first);
  CHECK(first->bytes.bytes.size() == 10);
  for (std::uint64_t i = 1; i <= 3; ++i) queue.push(block_of(10 * i, 10));
  CHECK(queue.take(true));
  CHECK_FALSE(queue.take(true));
}

TEST_CASE("parts can be discarded at any time: their memory is free then, and all blocks still come out") {
  std::mt19937 random(6);
  for (int round = 0; round < 60; ++round) {
    logging scope;
    async::worker_pool pool(3);
    async::semaphore memory(all_memory);
    stage_clock clock;
    {
      part_queue queue(settings_of(500, 100, 3), pool, memory, clock);
      std::uint64_t pushed = 0;
      std::uint64_t came = 0;
      for (; pushed < 6000; pushed += 200) queue.push(block_of(pushed, 200));
      queue.push({.end = true});
      const auto discards_at = random() % 30;
      for (std::size_t i = 0;; ++i) {
        if (i == discards_at) {
          queue.discard_parts();
          CHECK(memory.try_acquire(all_memory));
        }
        const auto next = queue.take(true);
        REQUIRE(next);
        if (next->bytes.end) break;
        came += next->bytes.bytes.size();
      }
      CHECK(came == pushed);
    }
    check_nothing_is_left(scope.log, pool, memory);
  }
}

TEST_CASE("a queue that is destroyed early leaves nothing running, and returns all memory") {
  std::mt19937 random(4);
  for (int round = 0; round < 100; ++round) {
    logging scope;
    async::worker_pool pool(3);
    async::semaphore memory(all_memory);
    stage_clock clock;
    {
      part_queue queue(settings_of(500, 100, 3), pool, memory, clock);
      std::uint64_t pushed = 0;
      for (std::size_t i = 0; i < random() % 40; ++i, pushed += 200) queue.push(block_of(pushed, 200));
      for (std::size_t i = 0; i < random() % 4; ++i) queue.take(true);
    }
    check_nothing_is_left(scope.log, pool, memory);
  }
}

}  // namespace

}  // namespace gpuhist::pipeline
