#include "pipeline/rolling_counts.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace gpuhist;
using namespace gpuhist::pipeline;

namespace {

// Class 0: '\n'; class 1: everything else. Rows come as 256 columns, as from a device.
gpu::partition lines_and_rest() {
  gpu::partition two;
  two.class_of.fill(1);
  two.class_of['\n'] = 0;
  two.classes = 2;
  return two;
}

struct counted {
  rolling_counts counts{lines_and_rest(), gpu::partition::identity(), {"a", "b"}};

  void merge(input_id input, frame_id frame, std::uint32_t newlines, std::uint32_t letters) {
    std::vector<std::uint32_t> row(256);
    row['\n'] = newlines;
    row['x'] = letters;
    const segment it{.input = input, .frame = frame, .where = {0, newlines + letters}};
    counts.merge({&it, 1}, row);
  }

  report now() const {
    report out;
    counts.write_to(out);
    return out;
  }
};

using tally_counts = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("totals are the sum of the inputs, folded to the partition") {
  counted it;
  it.merge(0, 0, 1, 2);
  it.merge(1, 0, 10, 20);
  it.merge(0, 0, 100, 200);
  const report seen = it.now();
  CHECK(seen.verified.counts == tally_counts{111, 222});
  CHECK(seen.inputs[0].verified.counts == tally_counts{101, 202});
  CHECK(seen.inputs[1].verified.counts == tally_counts{10, 20});
  CHECK(it.counts.merged_bytes() == 333);
  CHECK(it.counts.merged_bytes(0) == 303);
}

TEST_CASE("a frame is provisional until its verdict and all of its bytes are there, in whichever order they come") {
  for (const bool verdict_first : {true, false}) {
    CAPTURE(verdict_first);
    counted it;
    it.merge(0, 7, 1, 1);
    CHECK(it.now().verified.bytes() == 0);
    CHECK(it.now().unverified.counts == tally_counts{1, 1});
    if (verdict_first) it.counts.conclude(7, 0, 5, true);
    CHECK(it.now().verified.bytes() == 0);
    it.merge(0, 7, 2, 1);
    if (!verdict_first) it.counts.conclude(7, 0, 5, true);
    CHECK(it.now().verified.counts == tally_counts{3, 2});
    CHECK(it.now().unverified.bytes() == 0);
  }
}

TEST_CASE("what was decoded of a damaged frame is never part of the verified counts") {
  counted it;
  it.merge(0, 0, 1, 0);
  it.merge(0, 8, 4, 4);
  it.counts.conclude(8, 0, 8, false);
  it.counts.fail(0, 9, "frame 2 is damaged");
  it.counts.finish(1, 0);
  const report seen = it.now();
  CHECK(seen.verified.counts == tally_counts{1, 0});
  CHECK(seen.unverified.counts == tally_counts{4, 4});
  CHECK(seen.inputs[0].unverified.counts == tally_counts{4, 4});
  CHECK(seen.inputs[0].error == "frame 2 is damaged");
  CHECK_FALSE(seen.inputs[0].complete);
  CHECK(seen.inputs[1].complete);
  CHECK_FALSE(seen.complete);
}

TEST_CASE("an input is complete when it ended, everything of it was merged, and nothing is unverified") {
  counted it;
  it.counts.finish(1, 0);
  CHECK_FALSE(it.now().complete);
  it.counts.finish(0, 3);
  CHECK_FALSE(it.now().complete);
  it.merge(0, 0, 1, 2);
  CHECK(it.now().complete);
}
