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

// A ring with everything behind it, counting all 256 values of two inputs.
struct workshop {
  async::worker_pool pool{2};
  test::shuffling_engine engine{gpu::partition::identity()};
  ring slots;
  rolling_counts counts{gpu::partition::identity(), gpu::partition::identity(), {"even", "odd"}};
  std::stop_source stop;
  collector collected;
  cutter cut;

  workshop(std::uint32_t slot_count, std::uint32_t chunk_bytes, std::uint32_t extents)
      : slots({.slots = slot_count, .chunk_bytes = chunk_bytes, .max_extents = extents, .row_classes = 256}),
        collected(slots, engine, counts, stop, [] {}),
        cut(slots, collected) {}

  reservation reserve(std::uint64_t wanted) { return test::run(pool, cut.reserve(wanted)); }

  void settle() {
    cut.flush();
    test::run_wait(pool, [&] { return collected.settled(); });
  }

  run_counts seen() const { return counts.counts(); }
};

void fill(const reservation& where, char letter, std::size_t length) {
  std::memset(where.bytes.data(), letter, length);
}

}  // namespace

TEST_CASE("whatever places are asked for and however they are filled, every committed byte is counted once") {
  std::mt19937 engine(7);
  const auto random = [&engine] { return static_cast<std::uint32_t>(engine()); };
  for (int round = 0; round < 200; ++round) {
    const std::uint32_t chunk = 1 + random() % 64;
    const std::uint32_t slot_count = 2 + random() % 4;
    workshop it(slot_count, chunk, 1 + random() % 5);
    std::array<std::array<std::uint64_t, 256>, 2> expected{};
    std::deque<std::pair<reservation, input_id>> open;
    const auto commit_oldest = [&] {
      const auto [where, input] = open.front();
      open.pop_front();
      if (random() % 4 == 0) {
        it.cut.set_chunking(
            {.max_bytes = static_cast<std::uint32_t>(1 + random() % 100), .count_here = random() % 2 == 0});
      }
      const std::size_t length = random() % (where.bytes.size() + 1);
      const char letter = static_cast<char>(random() % 256);
      fill(where, letter, length);
      expected[input][static_cast<unsigned char>(letter)] += length;
      it.cut.commit(where, length, {.input = input});
    };
    const auto commit_all_in_any_order = [&] {
      std::shuffle(open.begin(), open.end(), engine);
      while (!open.empty()) commit_oldest();
    };
    for (int i = 0; i < 100; ++i) {
      if (open.size() >= slot_count) commit_all_in_any_order();  // places hold slots
      open.emplace_back(it.reserve(1 + random() % 100), static_cast<input_id>(random() % 2));
      CHECK(!open.back().first.bytes.empty());
      if (random() % 2 == 0) commit_oldest();
      if (random() % 8 == 0) it.cut.flush();
    }
    commit_all_in_any_order();
    it.settle();
    const run_counts seen = it.seen();
    for (std::size_t input = 0; input < 2; ++input) {
      CHECK(std::equal(expected[input].begin(), expected[input].end(), seen.inputs[input].verified.counts.begin()));
    }
  }
}

TEST_CASE("chunks that are begun under a limit are full with it") {
  workshop it(3, 100, 8);
  const reservation before = it.reserve(1000);
  CHECK(before.bytes.size() == 100);
  it.cut.set_chunking({.max_bytes = 30});
  it.cut.commit(before, 40, {});  // begun before: it still has room
  const reservation rest = it.reserve(1000);
  CHECK(rest.bytes.size() == 60);
  const reservation limited = it.reserve(1000);
  CHECK(limited.bytes.size() == 30);
  it.cut.commit(limited, 30, {});
  it.cut.set_chunking({.max_bytes = 1000});
  const reservation after = it.reserve(1000);
  CHECK(after.bytes.size() == 100);
  it.cut.commit(rest, 0, {});
  it.cut.commit(after, 0, {});
  it.settle();
  CHECK(it.counts.merged_bytes() == 70);
}

TEST_CASE("a stream read in many small pieces makes one segment, not one a piece") {
  workshop it(2, 64, 2);
  for (int i = 0; i < 40; ++i) {
    const reservation where = it.reserve(64);
    fill(where, 'x', 1);
    it.cut.commit(where, 1, {.input = 0});
  }
  it.settle();
  CHECK(it.collected.merged_chunks() == 1);
  CHECK(it.seen().inputs[0].verified.counts['x'] == 40);
}

TEST_CASE("a frame that ends verified in the slot that is filling needs no verdict") {
  workshop it(2, 64, 2);  // two extents: frames that did not become one would not fit
  const group_id group = it.counts.open_group(0);
  for (frame_id frame = 1; frame <= 20; ++frame) {
    const reservation where = it.reserve(3);
    fill(where, 'f', 3);
    it.cut.commit(where, 3, {.input = 0, .group = group, .frame = frame});
    CHECK(it.cut.verified_in_place({.input = 0, .group = group, .frame = frame}, 3));
  }
  it.settle();
  CHECK(it.collected.merged_chunks() == 1);
  CHECK(it.seen().verified.counts['f'] == 60);
  CHECK(it.seen().unverified.bytes() == 0);
}

TEST_CASE("a frame that left the slot is not verified in place") {
  workshop it(2, 4, 2);
  const text_owner frame{.input = 0, .group = it.counts.open_group(0), .frame = 9};
  for (const std::size_t length : {4U, 2U}) {
    const reservation where = it.reserve(length);
    fill(where, 'f', length);
    it.cut.commit(where, length, frame);
  }
  CHECK_FALSE(it.cut.verified_in_place(frame, 6));
  it.settle();
  CHECK(it.seen().unverified.counts['f'] == 6);
  it.counts.conclude(frame, 6, true);
  CHECK(it.seen().verified.counts['f'] == 6);
}

TEST_CASE("a flush cuts what was committed and leaves places that are being filled alone") {
  workshop it(3, 16, 4);
  const reservation first = it.reserve(4);
  fill(first, 'a', 4);
  it.cut.commit(first, 4, {.input = 0});
  const reservation second = it.reserve(4);
  CHECK(it.cut.flush().chunks == 0);
  fill(second, 'b', 4);
  it.cut.commit(second, 4, {.input = 1});
  CHECK(it.cut.flush().chunks == 1);
  CHECK(it.cut.flush().chunks == 1);  // nothing new
  it.settle();
  CHECK(it.seen().inputs[0].verified.counts['a'] == 4);
  CHECK(it.seen().inputs[1].verified.counts['b'] == 4);
}
