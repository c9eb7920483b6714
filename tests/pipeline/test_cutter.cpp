// Reservations in slots, and the chunks that the cutter makes from them.
#include "pipeline/flow/cutter.hpp"

#include "tests/support/run_coroutine.hpp"
#include "tests/support/shuffling_engine.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <random>
#include <string>
#include <vector>

using namespace gpuhist;
using namespace gpuhist::pipeline;

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
