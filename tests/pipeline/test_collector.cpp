// Chunks that an engine completes in any order are merged in stream order.
#include "pipeline/flow/collector.hpp"

#include "pipeline/flow/cutter.hpp"
#include "tests/support/run_coroutine.hpp"
#include "tests/support/shuffling_engine.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

using namespace gpuhist;
using namespace gpuhist::pipeline;

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
