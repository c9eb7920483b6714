// Page-locked memory for rows: taken by threads of a decoder, all at once or not at all.
#include "pipeline/flow/decoding/row_memory.hpp"

#include "tests/support/staging_engine.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
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
