// Page-locked memory in slots.
#include "pipeline/flow/decoding/staging_slots.hpp"

#include "async/worker_pool.hpp"
#include "tests/support/run_coroutine.hpp"
#include "tests/support/staging_engine.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

using namespace gpuhist;
using namespace gpuhist::pipeline;

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
