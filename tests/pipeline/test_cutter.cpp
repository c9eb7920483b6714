// The slots of the ring and their memory, reservations in slots and the chunks that the cutter makes from them, and
// chunks that an engine completes in any order: they are merged in stream order.
#include "pipeline/flow/collector.hpp"
#include "pipeline/flow/cutter.hpp"
#include "pipeline/flow/ring.hpp"

#include "tests/support/run_coroutine.hpp"
#include "tests/support/shuffling_engine.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <future>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

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

namespace {

// A ring with all later stages. Counts all 256 values of two inputs.
struct workshop {
  async::worker_pool pool{2};
  test::shuffling_engine engine{gpu::partition::identity()};
  ring slots;
  rolling_counts counts{gpu::partition::identity(), gpu::partition::identity(), {"even", "odd"}};
  std::stop_source stop;
  collector collected;
  cutter cut;

  workshop(std::uint32_t slot_count, std::uint32_t chunk_bytes, std::uint32_t extents)
      : slots({.slots = slot_count, .chunk_bytes = chunk_bytes, .max_extents = extents, .row_columns = 256}),
        collected(slots, engine, counts, stop, [] {}),
        cut(slots, collected) {}

  reservation reserve(std::uint64_t wanted) { return test::run(pool, cut.reserve(wanted)); }

  void settle() {
    cut.flush();
    test::run_wait(pool, [&] { return collected.settled(); });
  }

  run_counts counted() const { return counts.counts(); }
};

void fill(const reservation& reserved, char letter, std::size_t length) {
  std::memset(reserved.bytes.data(), letter, length);
}

}  // namespace

TEST_CASE("every committed byte is counted once, whatever the sizes of reservations and the order of commits") {
  std::mt19937 engine(7);
  const auto random = [&engine] { return static_cast<std::uint32_t>(engine()); };
  for (int round = 0; round < 200; ++round) {
    const std::uint32_t chunk = 1 + random() % 64;
    const std::uint32_t slot_count = 2 + random() % 4;
    workshop fixture(slot_count, chunk, 1 + random() % 5);
    std::array<std::array<std::uint64_t, 256>, 2> expected{};
    std::deque<std::pair<reservation, input_id>> open;
    const auto commit_oldest = [&] {
      const auto [reserved, input] = open.front();
      open.pop_front();
      if (random() % 4 == 0) {
        fixture.cut.set_chunking(
            {.max_bytes = static_cast<std::uint32_t>(1 + random() % 100), .count_here = random() % 2 == 0});
      }
      const std::size_t length = random() % (reserved.bytes.size() + 1);
      const char letter = static_cast<char>(random() % 256);
      fill(reserved, letter, length);
      expected[input][static_cast<unsigned char>(letter)] += length;
      fixture.cut.commit(reserved, length, {.input = input});
    };
    const auto commit_all_in_any_order = [&] {
      std::shuffle(open.begin(), open.end(), engine);
      while (!open.empty()) commit_oldest();
    };
    for (int i = 0; i < 100; ++i) {
      if (open.size() >= slot_count) commit_all_in_any_order();  // reservations hold slots
      open.emplace_back(fixture.reserve(1 + random() % 100), static_cast<input_id>(random() % 2));
      CHECK(!open.back().first.bytes.empty());
      if (random() % 2 == 0) commit_oldest();
      if (random() % 8 == 0) fixture.cut.flush();
    }
    commit_all_in_any_order();
    fixture.settle();
    const run_counts counted = fixture.counted();
    for (std::size_t input = 0; input < 2; ++input) {
      CHECK(std::equal(expected[input].begin(), expected[input].end(), counted.inputs[input].verified.counts.begin()));
    }
  }
}

TEST_CASE("chunks that begin under a limit are full when they reach the limit") {
  workshop fixture(3, 100, 8);
  const reservation before = fixture.reserve(1000);
  CHECK(before.bytes.size() == 100);
  fixture.cut.set_chunking({.max_bytes = 30});
  fixture.cut.commit(before, 40, {});  // begun before the limit: it still has room
  const reservation rest = fixture.reserve(1000);
  CHECK(rest.bytes.size() == 60);
  const reservation limited = fixture.reserve(1000);
  CHECK(limited.bytes.size() == 30);
  fixture.cut.commit(limited, 30, {});
  fixture.cut.set_chunking({.max_bytes = 1000});
  const reservation after = fixture.reserve(1000);
  CHECK(after.bytes.size() == 100);
  fixture.cut.commit(rest, 0, {});
  fixture.cut.commit(after, 0, {});
  fixture.settle();
  CHECK(fixture.counts.merged_bytes() == 70);
}

TEST_CASE("a stream that is read in many small pieces makes one segment, not one per piece") {
  workshop fixture(2, 64, 2);
  for (int i = 0; i < 40; ++i) {
    const reservation reserved = fixture.reserve(64);
    fill(reserved, 'x', 1);
    fixture.cut.commit(reserved, 1, {.input = 0});
  }
  fixture.settle();
  CHECK(fixture.collected.merged_chunks() == 1);
  CHECK(fixture.counted().inputs[0].verified.counts['x'] == 40);
}

TEST_CASE("a frame that ends verified in the slot that is being filled needs no verdict") {
  workshop fixture(2, 64, 2);  // two extents: separate frames would not fit
  const group_id group = fixture.counts.open_group(0);
  for (frame_id frame = 1; frame <= 20; ++frame) {
    const reservation reserved = fixture.reserve(3);
    fill(reserved, 'f', 3);
    fixture.cut.commit(reserved, 3, {.input = 0, .group = group, .frame = frame});
    CHECK(fixture.cut.verified_in_place({.input = 0, .group = group, .frame = frame}, 3));
  }
  fixture.settle();
  CHECK(fixture.collected.merged_chunks() == 1);
  CHECK(fixture.counted().verified.counts['f'] == 60);
  CHECK(fixture.counted().unverified.bytes() == 0);
}

TEST_CASE("a frame that continues in another slot is not verified in place") {
  workshop fixture(2, 4, 2);
  const text_owner frame{.input = 0, .group = fixture.counts.open_group(0), .frame = 9};
  for (const std::size_t length : {4U, 2U}) {
    const reservation reserved = fixture.reserve(length);
    fill(reserved, 'f', length);
    fixture.cut.commit(reserved, length, frame);
  }
  CHECK_FALSE(fixture.cut.verified_in_place(frame, 6));
  fixture.settle();
  CHECK(fixture.counted().unverified.counts['f'] == 6);
  fixture.counts.conclude(frame, 6, true);
  CHECK(fixture.counted().verified.counts['f'] == 6);
}

TEST_CASE("a flush cuts committed bytes and leaves open reservations alone") {
  workshop fixture(3, 16, 4);
  const reservation first = fixture.reserve(4);
  fill(first, 'a', 4);
  fixture.cut.commit(first, 4, {.input = 0});
  const reservation second = fixture.reserve(4);
  CHECK(fixture.cut.flush().chunks == 0);
  fill(second, 'b', 4);
  fixture.cut.commit(second, 4, {.input = 1});
  CHECK(fixture.cut.flush().chunks == 1);
  CHECK(fixture.cut.flush().chunks == 1);  // no new chunk
  fixture.settle();
  CHECK(fixture.counted().inputs[0].verified.counts['a'] == 4);
  CHECK(fixture.counted().inputs[1].verified.counts['b'] == 4);
}

namespace {

// Feeds `chunks` chunks of 8 bytes through an engine that fails one of them. Chunk n holds the letter 'a' + n % 26.
struct failing_run {
  async::worker_pool pool{2};
  test::shuffling_engine engine;
  ring slots{{.slots = 4, .chunk_bytes = 8, .max_extents = 2, .row_columns = 256}};
  rolling_counts counts{gpu::partition::identity(), gpu::partition::identity(), {"only"}};
  std::stop_source stop;
  std::vector<std::uint64_t> prefixes;  // bytes merged so far, after each merge
  collector collected{slots, engine, counts, stop, [this] {
                        const std::scoped_lock lock(mutex);
                        prefixes.push_back(counts.merged_bytes());
                      }};
  cutter cut{slots, collected};
  std::mutex mutex;

  failing_run(unsigned seed, std::optional<std::uint64_t> failing_job)
      : engine(gpu::partition::identity(), seed, failing_job) {}

  void feed(int chunks) {
    for (int n = 0; n < chunks; ++n) {
      const reservation reserved = test::run(pool, cut.reserve(8));
      std::fill(reserved.bytes.begin(), reserved.bytes.end(), static_cast<std::byte>('a' + n % 26));
      cut.commit(reserved, 8, {.input = 0});
    }
    cut.flush();
    test::run_wait(pool, [&] { return collected.settled(); });
  }
};

}  // namespace

TEST_CASE(
    "chunks that finish in any order are merged in stream order: at every moment the counts are those of a prefix") {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    failing_run tested(seed, {});
    tested.feed(100);
    CHECK(tested.collected.merged_chunks() == 100);
    CHECK(tested.counts.merged_bytes() == 800);
    CHECK(std::is_sorted(tested.prefixes.begin(), tested.prefixes.end()));
    CHECK_FALSE(tested.collected.lost());
  }
}

TEST_CASE("a chunk that cannot be counted ends the prefix, is reported, requests a stop, and loses no earlier byte") {
  for (std::uint64_t lost = 0; lost < 20; ++lost) {
    failing_run tested(static_cast<unsigned>(lost + 1), lost);
    tested.feed(20);
    CHECK(tested.stop.stop_requested());
    REQUIRE(tested.collected.lost());
    CHECK(tested.collected.lost()->input == 0);
    CHECK(tested.collected.lost()->offset == lost * 8);
    CHECK(tested.counts.merged_bytes() == lost * 8);
    CHECK(tested.collected.merged_chunks() == 20);  // nevertheless, all slots were released
  }
}
