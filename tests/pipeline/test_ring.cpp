#include "pipeline/ring.hpp"

#include "tests/support/run_coroutine.hpp"

#include <doctest/doctest.h>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>

#include <chrono>
#include <cstdint>
#include <set>

using namespace gpuhist;
using namespace gpuhist::pipeline;

namespace {

constexpr ring_shape small{.slots = 3, .chunk_bytes = 5, .max_extents = 4, .row_classes = 7};

}  // namespace

TEST_CASE("the slots of a ring lie page-aligned and apart in the memory that is registered") {
  boost::asio::thread_pool pool(1);
  ring it(small, pool.get_executor());
  CHECK(it.memory().size() == small.mapped_bytes());
  const std::byte* end_of_last = it.memory().data();
  for (const slot& each : it.slots()) {
    CHECK(reinterpret_cast<std::uintptr_t>(each.bytes.data()) % 4096 == 0);
    CHECK(each.bytes.data() >= end_of_last);
    CHECK(each.bytes.size() == 5);
    CHECK(each.extents.size() == 4);
    CHECK(each.rows.size() == 28);
    end_of_last = std::as_bytes(each.rows).data() + std::as_bytes(each.rows).size();
  }
  CHECK(end_of_last <= it.memory().data() + it.memory().size());
}

TEST_CASE("every slot is handed out once, and one that is waited for comes when one is released") {
  boost::asio::thread_pool pool(2);
  ring it(small, pool.get_executor());
  std::set<slot*> taken;
  for (int i = 0; i < 3; ++i) taken.insert(test::run(pool, it.acquire()));
  CHECK(taken.size() == 3);
  for (const slot* each : taken) CHECK(each->now == phase::filling);

  auto waiting = boost::asio::co_spawn(pool, it.acquire(), boost::asio::use_future);
  CHECK(waiting.wait_for(std::chrono::milliseconds(20)) == std::future_status::timeout);
  slot* freed = *taken.begin();
  it.release(*freed);
  CHECK(waiting.get() == freed);
  CHECK(it.waiting_seconds() > 0);
}

TEST_CASE("the slot freed last is taken first") {
  boost::asio::thread_pool pool(1);
  ring it(small, pool.get_executor());
  slot* first = test::run(pool, it.acquire());
  slot* second = test::run(pool, it.acquire());
  it.release(*first);
  it.release(*second);
  CHECK(test::run(pool, it.acquire()) == second);
  CHECK(test::run(pool, it.acquire()) == first);
}
