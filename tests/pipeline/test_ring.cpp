// The slots of the ring and their memory.
#include "pipeline/flow/ring.hpp"

#include "tests/support/run_coroutine.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <set>
#include <span>

using namespace gpuhist;
using namespace gpuhist::pipeline;

namespace {

constexpr ring_shape small{.slots = 3, .chunk_bytes = 5, .max_extents = 4, .row_columns = 7};

}  // namespace

TEST_CASE("all parts of all slots are apart, page-aligned and in the registered memory, and texts are adjacent") {
  async::worker_pool pool(1);
  ring tested(small);
  CHECK(tested.memory().size() == small.mapped_bytes());
  std::map<const std::byte*, std::size_t> parts;  // by their first byte
  const std::byte* text = tested.memory().data();
  for (const slot& each : tested.slots()) {
    CHECK(each.bytes.data() == text);
    text += 4096;
    CHECK(each.bytes.size() == 5);
    CHECK(each.extents.size() == 4);
    CHECK(each.rows.size() == 28);
    for (const auto part :
         {std::span<const std::byte>(each.bytes), std::as_bytes(each.extents), std::as_bytes(each.rows)}) {
      CHECK(reinterpret_cast<std::uintptr_t>(part.data()) % 4096 == 0);
      CHECK(parts.try_emplace(part.data(), part.size()).second);
    }
  }
  const std::byte* end_of_last = tested.memory().data();
  for (const auto& [begin, size] : parts) {
    CHECK(begin >= end_of_last);
    end_of_last = begin + size;
  }
  CHECK(end_of_last <= tested.memory().data() + tested.memory().size());
}

TEST_CASE("the memory of a ring outlives it for every owner") {
  async::worker_pool pool(1);
  std::span<std::byte> memory;
  std::shared_ptr<const void> owner;
  {
    ring tested(small);
    memory = tested.memory();
    owner = tested.memory_owner();
  }
  memory.front() = std::byte{1};
  CHECK(memory.front() == std::byte{1});
}

TEST_CASE("every slot is given to one caller, and a waiting caller gets the next slot that is released") {
  async::worker_pool pool(2);
  ring tested(small);
  std::set<slot*> taken;
  for (int i = 0; i < 3; ++i) taken.insert(test::run(pool, tested.acquire()));
  CHECK(taken.size() == 3);
  for (const slot* each : taken) CHECK(each->current_phase == phase::filling);

  auto waiting = std::async(std::launch::async, [&] { return test::run(pool, tested.acquire()); });
  CHECK(waiting.wait_for(std::chrono::milliseconds(20)) == std::future_status::timeout);
  slot* freed = *taken.begin();
  tested.release(*freed);
  CHECK(waiting.get() == freed);
  CHECK(tested.waiting_seconds() > 0);
}

TEST_CASE("a user gets a slot that it had before if one is free, otherwise the one that was released last") {
  ring tested(small);
  slot* const mine = tested.try_acquire_for(1);
  slot* const other = tested.try_acquire_for(2);
  REQUIRE(mine != nullptr);
  REQUIRE(other != nullptr);
  tested.release(*mine);
  tested.release(*other);
  CHECK(tested.try_acquire_for(1) == mine);
  CHECK(tested.try_acquire_for(1) == other);
}

TEST_CASE("the slot that was released last is taken first") {
  async::worker_pool pool(1);
  ring tested(small);
  slot* first = test::run(pool, tested.acquire());
  slot* second = test::run(pool, tested.acquire());
  tested.release(*first);
  tested.release(*second);
  CHECK(test::run(pool, tested.acquire()) == second);
  CHECK(test::run(pool, tested.acquire()) == first);
}
