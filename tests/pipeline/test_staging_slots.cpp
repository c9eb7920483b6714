// Page-locked memory: in slots, and for rows, which threads of a decoder take all at once or not at all.
#include "async/worker_pool.hpp"
#include "pipeline/flow/decoding/row_memory.hpp"
#include "pipeline/flow/decoding/staging_slots.hpp"

#include "tests/support/run_coroutine.hpp"
#include "tests/support/staging_engine.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

using namespace gpuhist;
using namespace gpuhist::pipeline;

namespace {

constexpr std::size_t row_slot_bytes = 64;

struct locked_rows {
  test::staging_engine engine;
  row_memory memory;

  // Allocates as many as the system allows.
  explicit locked_rows(std::uint32_t slots, unsigned registrations = std::numeric_limits<unsigned>::max())
      : engine({}, registrations), memory({.slot_bytes = row_slot_bytes, .max_slots = slots, .more_slots = 4}) {
    memory.start(engine);
    for (std::uint32_t i = 0; i < slots; ++i) memory.expect(slots * row_slot_bytes);
  }
};

// In another thread. Returns when it has memory or will never have it.
struct waiting_thread {
  std::optional<row_memory::lease> taken;
  std::atomic<bool> has_ended = false;
  std::jthread thread;

  waiting_thread(row_memory& from, std::uint64_t bytes)
      : thread([this, &from, bytes] {
          if (auto lease = from.take(bytes, true)) taken.emplace(std::move(*lease));
          has_ended = true;
          has_ended.notify_all();
        }) {}

  [[nodiscard]] bool is_waiting() const {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return !has_ended;
  }
};

}  // namespace

TEST_CASE("row memory: what is taken is page-locked, distinct, and has room for the bytes; then it is free again") {
  locked_rows rows(10);
  for (int again = 0; again < 3; ++again) {
    std::vector<row_memory::lease> taken;
    std::vector<const std::byte*> begins;
    for (const std::uint64_t bytes : {1U, 64U, 65U, 300U}) {
      auto lease = rows.memory.take(bytes, false);
      REQUIRE(lease);
      std::uint64_t room = 0;
      for (const std::span<std::byte> slot : lease->slots()) {
        CHECK(rows.engine.is_registered(slot));
        begins.push_back(slot.data());
        room += slot.size();
      }
      CHECK(room == (bytes + row_slot_bytes - 1) / row_slot_bytes * row_slot_bytes);
      taken.push_back(std::move(*lease));
    }
    std::ranges::sort(begins);
    for (std::size_t i = 1; i < begins.size(); ++i) CHECK(begins[i] >= begins[i - 1] + row_slot_bytes);
    CHECK(begins.size() == 9);
    CHECK_FALSE(rows.memory.take(65, false));
    CHECK(rows.memory.take(64, false));
  }
  CHECK(rows.engine.registrations() == 3);  // four slots, four, and two
}

TEST_CASE("row memory: slots are allocated when they are expected to be needed, some at a time and up to the maximum") {
  test::staging_engine engine;
  row_memory memory({.slot_bytes = row_slot_bytes, .max_slots = 10, .more_slots = 4});
  memory.start(engine);
  CHECK(engine.registrations() == 1);
  memory.expect(4 * row_slot_bytes);
  CHECK(engine.registrations() == 1);
  memory.expect(4 * row_slot_bytes + 1);
  CHECK(engine.registrations() == 2);
  for (int again = 0; again < 3; ++again) memory.expect(1000 * row_slot_bytes);
  CHECK(engine.registrations() == 3);
  CHECK(memory.take(10 * row_slot_bytes, false));
}

TEST_CASE("row memory: a thread waits until there is enough for all its rows") {
  locked_rows rows(4);
  auto first = rows.memory.take(2 * row_slot_bytes, false);
  auto second = rows.memory.take(row_slot_bytes, false);
  const waiting_thread waiting(rows.memory, 3 * row_slot_bytes);
  CHECK(waiting.is_waiting());
  second.reset();
  CHECK(waiting.is_waiting());  // two are free, of which it has taken none:
  CHECK(rows.memory.take(2 * row_slot_bytes, false));
  first.reset();
  waiting.has_ended.wait(false);
  CHECK(waiting.taken.value().slots().size() == 3);
}

TEST_CASE("row memory: what a failed device may write to is not used again, and no thread waits for it") {
  locked_rows rows(4);
  auto lost = rows.memory.take(2 * row_slot_bytes, false);
  const waiting_thread waiting(rows.memory, 3 * row_slot_bytes);
  CHECK(waiting.is_waiting());
  lost.value().lose();
  lost.reset();
  waiting.has_ended.wait(false);
  CHECK_FALSE(waiting.taken);
  CHECK(rows.memory.take(2 * row_slot_bytes, true));
}

TEST_CASE("row memory: more than there is, is not waited for") {
  locked_rows rows(4);
  CHECK_FALSE(rows.memory.take(4 * row_slot_bytes + 1, true));
  CHECK(rows.memory.take(4 * row_slot_bytes, true));
}

TEST_CASE("row memory: if the system refuses memory, that is an error") {
  CHECK_THROWS_AS(locked_rows(4, 0), gpu::memory_shortage);
}

TEST_CASE("row memory: if the system refuses more memory there are fewer slots, and no wait for more") {
  locked_rows rows(100, 2);
  CHECK_FALSE(rows.memory.take(9 * row_slot_bytes, true));
  CHECK(rows.memory.take(8 * row_slot_bytes, true));
}

TEST_CASE("row memory: threads that take and return at the same time have memory of their own") {
  locked_rows rows(30);
  std::atomic<unsigned> overwritten = 0;
  {
    std::vector<std::jthread> threads;
    for (unsigned char thread = 1; thread <= 4; ++thread) {
      threads.emplace_back([&, thread] {
        for (std::uint64_t i = 0; i < 300; ++i) {
          const auto lease = rows.memory.take((1 + i % 12) * row_slot_bytes, true);
          for (const auto& slot : lease.value().slots()) std::memset(slot.data(), thread, slot.size());
          std::this_thread::yield();
          for (const auto& slot : lease.value().slots()) {
            const bool is_own = std::ranges::all_of(slot, [&](std::byte each) { return each == std::byte{thread}; });
            if (!is_own) ++overwritten;
          }
        }
      });
    }
  }
  CHECK(overwritten == 0);
}

namespace {

constexpr std::size_t bytes_of_slot = 64;
constexpr std::uint32_t slots_together = 4;

struct staged_memory {
  async::worker_pool pool{2};
  test::staging_engine engine;
  staging_slots slots;

  explicit staged_memory(std::uint32_t max_slots, unsigned registrations = std::numeric_limits<unsigned>::max())
      : engine({}, registrations),
        slots({.slot_bytes = bytes_of_slot, .max_slots = max_slots, .more_slots = slots_together}) {
    slots.start(engine);
  }

  std::shared_ptr<staging_slot> acquire() { return test::run(pool, slots.acquire()); }

  // Takes all slots that are free or can be allocated.
  std::vector<std::shared_ptr<staging_slot>> take_all() {
    std::vector<std::shared_ptr<staging_slot>> all;
    while (auto more = slots.try_acquire()) all.push_back(std::move(more));
    return all;
  }
};

void check_distinct(std::vector<std::shared_ptr<staging_slot>> all) {
  std::ranges::sort(all, {}, [](const auto& each) { return each->memory(); });
  for (std::size_t i = 1; i < all.size(); ++i) CHECK(all[i]->memory() >= all[i - 1]->memory() + bytes_of_slot);
}

}  // namespace

TEST_CASE("slots are distinct, their number is limited, and each is free again when its last owner has ended") {
  staged_memory staged(11);
  for (int again = 0; again < 3; ++again) {
    const auto all = staged.take_all();
    CHECK(all.size() == 11);
    check_distinct(all);
    for (const auto& each : all) CHECK(staged.engine.is_registered({each->memory(), bytes_of_slot}));
  }
  CHECK(staged.engine.registrations() == 3);  // four slots, four, and three
}

TEST_CASE("slots are allocated when they are needed") {
  staged_memory staged(100);
  CHECK(staged.engine.registrations() == 1);
  std::vector<std::shared_ptr<staging_slot>> taken;
  while (taken.size() < slots_together) taken.push_back(staged.acquire());
  CHECK(staged.engine.registrations() == 1);
  taken.push_back(staged.acquire());
  CHECK(staged.engine.registrations() == 2);
}

TEST_CASE("a wait for a slot ends when a slot is returned") {
  staged_memory staged(3);
  auto all = staged.take_all();
  std::atomic<bool> has_slot = false;
  std::jthread waiting([&] {
    const auto slot = staged.acquire();
    has_slot = slot != nullptr;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK_FALSE(has_slot);
  all.pop_back();
  waiting.join();
  CHECK(has_slot);
}

TEST_CASE("if the system page-locks no more memory there are fewer slots, and no wait for more") {
  staged_memory staged(100, 2);
  const auto all = staged.take_all();
  CHECK(all.size() == 2 * slots_together);
  check_distinct(all);
  CHECK(staged.acquire() == nullptr);
  CHECK(staged.acquire() == nullptr);
  CHECK(staged.slots.try_acquire() == nullptr);
}

TEST_CASE("if the system refuses memory for the first slots, that is an error") {
  CHECK_THROWS_AS(staged_memory(100, 0), gpu::memory_shortage);
}

TEST_CASE("coroutines on several threads get all slots, each to one of them, whether or not memory is refused") {
  for (const unsigned registrations : {1000U, 7U}) {
    CAPTURE(registrations);
    staged_memory staged(60, registrations);
    const std::uint32_t slots = std::min(60U, registrations * slots_together);
    std::atomic<unsigned> refused = 0;
    std::vector<std::shared_ptr<staging_slot>> taken(60);
    {
      std::vector<std::jthread> threads;
      for (unsigned thread = 0; thread < 6; ++thread) {
        threads.emplace_back([&, thread] {
          async::worker_pool own{1};
          for (unsigned i = 0; i < 10; ++i) {
            taken[10 * thread + i] = test::run(own, staged.slots.acquire());
            if (!taken[10 * thread + i]) ++refused;
          }
        });
      }
    }
    CHECK(refused == 60 - slots);
    std::erase(taken, nullptr);
    check_distinct(taken);
  }
}
