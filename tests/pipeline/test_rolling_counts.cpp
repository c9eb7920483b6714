#include "pipeline/counts/rolling_counts.hpp"

#include <doctest/doctest.h>

#include <string>
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

  void merge(const text_owner& owner, std::uint32_t newlines, std::uint32_t letters) {
    std::vector<std::uint32_t> row(256);
    row['\n'] = newlines;
    row['x'] = letters;
    const segment it{.owner = owner, .extent = {0, newlines + letters}};
    CHECK_FALSE(counts.merge({&it, 1}, row).failure);
  }

  void drop(const text_owner& owner, std::uint32_t bytes) {
    const segment it{.owner = owner, .extent = {0, bytes}};
    counts.drop({&it, 1}, "the engine failed");
  }

  run_counts now() const { return counts.counts(); }
};

using tally_counts = std::vector<std::uint64_t>;

input_failure unreadable(const std::string& text) { return {.kind = failure_kind::unreadable, .text = text}; }

}  // namespace

TEST_CASE("totals are the sum of the inputs, folded to the partition") {
  counted it;
  it.merge({.input = 0}, 1, 2);
  it.merge({.input = 1}, 10, 20);
  it.merge({.input = 0}, 100, 200);
  const run_counts seen = it.now();
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
    const text_owner frame{.input = 0, .group = it.counts.open_group(0), .frame = 7};
    it.merge(frame, 1, 1);
    CHECK(it.now().verified.bytes() == 0);
    CHECK(it.now().unverified.counts == tally_counts{1, 1});
    if (verdict_first) it.counts.conclude(frame, 5, true);
    CHECK(it.now().verified.bytes() == 0);
    it.merge(frame, 2, 1);
    if (!verdict_first) it.counts.conclude(frame, 5, true);
    CHECK(it.now().verified.counts == tally_counts{3, 2});
    CHECK(it.now().unverified.bytes() == 0);
  }
}

TEST_CASE("what was decoded of a damaged frame is never part of the verified counts") {
  for (const bool concluded : {true, false}) {
    counted it;
    const group_id group = it.counts.open_group(0);
    const text_owner damaged{.input = 0, .group = group, .frame = 2};
    it.merge({.input = 0, .group = group}, 1, 0);
    it.merge(damaged, 4, 4);
    if (concluded) it.counts.conclude(damaged, 8, false);
    it.counts.close_group(0, group, {.text_bytes = 9, .compressed_bytes = 3, .failure = [](std::uint64_t before) {
                                       return input_failure{
                                           .kind = failure_kind::damaged,
                                           .text = "frame 2 is damaged behind " + std::to_string(before)};
                                     }});
    it.counts.finish(1, 0);
    const run_counts seen = it.now();
    CHECK(seen.verified.counts == tally_counts{1, 0});
    CHECK(seen.unverified.counts == tally_counts{4, 4});
    CHECK(seen.inputs[0].unverified.counts == tally_counts{4, 4});
    CHECK(seen.inputs[0].error == "frame 2 is damaged behind 0");
    CHECK(seen.inputs[0].error_kind == failure_kind::damaged);
    CHECK(seen.inputs[0].compressed_bytes == 3);
    CHECK_FALSE(seen.inputs[0].complete);
    CHECK(seen.inputs[1].complete);
    CHECK_FALSE(seen.complete);
  }
}

TEST_CASE("what is merged of a younger group shows only once the groups before it are whole") {
  counted it;
  const group_id first = it.counts.open_group(0);
  const group_id second = it.counts.open_group(0);
  it.merge({.input = 0, .group = second}, 10, 0);
  it.counts.close_group(0, second, {.text_bytes = 10, .compressed_bytes = 8});
  CHECK(it.now().verified.bytes() == 0);
  CHECK(it.counts.merged_bytes(0) == 0);
  CHECK(it.counts.merged_bytes() == 10);
  it.merge({.input = 0, .group = first}, 1, 0);
  CHECK(it.now().verified.counts == tally_counts{1, 0});
  it.counts.close_group(0, first, {.text_bytes = 3, .compressed_bytes = 4});
  CHECK(it.now().verified.counts == tally_counts{1, 0});
  CHECK(it.counts.merged_bytes(0) == 1);
  it.merge({.input = 0, .group = first}, 1, 1);
  CHECK(it.now().verified.counts == tally_counts{12, 1});
  it.counts.finish(0, 13);
  CHECK(it.now().inputs[0].complete);
  CHECK(it.now().inputs[0].compressed_bytes == 8);
}

TEST_CASE("behind a damaged group nothing counts, whether it was merged before the damage was known or after") {
  counted it;
  const group_id first = it.counts.open_group(0);
  const group_id second = it.counts.open_group(0);
  const group_id third = it.counts.open_group(0);
  it.merge({.input = 0, .group = third}, 100, 0);
  it.merge({.input = 0, .group = second, .frame = 1}, 10, 0);
  it.counts.close_group(0, second, {.text_bytes = 10, .compressed_bytes = 8, .failure = [](std::uint64_t before) {
                                      return input_failure{.kind = failure_kind::damaged,
                                                           .text = "damaged behind " + std::to_string(before)};
                                    }});
  it.merge({.input = 0, .group = first}, 0, 5);
  it.counts.close_group(0, first, {.text_bytes = 5, .compressed_bytes = 4});
  it.merge({.input = 0, .group = third}, 100, 0);
  it.counts.conclude({.input = 0, .group = third, .frame = 2}, 7, true);
  it.counts.close_group(0, third, {.text_bytes = 200, .compressed_bytes = 12});
  const run_counts seen = it.now();
  CHECK(seen.verified.counts == tally_counts{0, 5});
  CHECK(seen.unverified.counts == tally_counts{10, 0});
  CHECK(seen.inputs[0].error == "damaged behind 5");
  CHECK(seen.inputs[0].error_kind == failure_kind::damaged);
  CHECK_FALSE(seen.inputs[0].complete);
}

TEST_CASE("an input is complete when it ended, everything of it was merged, and nothing is unverified") {
  counted it;
  it.counts.finish(1, 0);
  CHECK_FALSE(it.now().complete);
  it.counts.finish(0, 3);
  CHECK_FALSE(it.now().complete);
  it.merge({.input = 0}, 1, 2);
  CHECK(it.now().complete);
}

TEST_CASE("an input whose text was dropped is over when the rest was, and says from where on it was not counted") {
  counted it;
  it.merge({.input = 0}, 1, 2);
  it.drop({.input = 0}, 4);
  it.counts.finish(0, 10);
  CHECK(it.counts.inputs_in_order() == 0);  // 3 bytes are still on their way
  it.drop({.input = 0}, 3);
  CHECK(it.counts.inputs_in_order() == 1);
  const run_counts seen = it.now();
  CHECK_FALSE(seen.complete);
  CHECK_FALSE(seen.inputs[0].complete);
  CHECK(seen.inputs[0].error == "not counted from offset 3 on: the engine failed");
  CHECK(seen.inputs[0].error_kind == failure_kind::not_counted);
  CHECK(seen.verified.counts == tally_counts{1, 2});
}

TEST_CASE("a group of which text was dropped ends the counts of its input once its turn has come") {
  counted it;
  for (int group = 1; group <= 3; ++group) it.counts.open_group(0);
  it.drop({.input = 0, .group = 2}, 5);
  it.merge({.input = 0, .group = 3}, 0, 7);
  it.counts.close_group(0, 3, {.text_bytes = 7});
  it.counts.close_group(0, 2, {.text_bytes = 5});
  CHECK(it.now().inputs[0].error.empty());  // the first group may yet end before that
  it.merge({.input = 0, .group = 1}, 1, 3);
  it.counts.close_group(0, 1, {.text_bytes = 4});
  CHECK(it.now().inputs[0].error == "not counted from offset 4 on: the engine failed");
  CHECK(it.now().inputs[0].error_kind == failure_kind::not_counted);
  CHECK(it.now().verified.counts == tally_counts{1, 3});
  it.merge({.input = 0, .group = 3}, 0, 7);  // of no matter any more
  CHECK(it.now().verified.counts == tally_counts{1, 3});
}

TEST_CASE("text of an input that has ended before it is in no count, and the counts are incomplete") {
  for (const bool failed : {true, false}) {
    CAPTURE(failed);
    counted it;
    it.merge({.input = 0}, 1, 2);
    if (failed) {
      it.counts.fail(0, 3, unreadable("the stream failed"));
    } else {
      it.counts.finish(0, 3);
    }
    CHECK(it.counts.inputs_in_order() == 1);
    it.merge({.input = 0}, 4, 5);
    it.merge({.input = 0, .group = 1}, 4, 5);
    it.merge({.input = 1}, 1, 1);
    it.counts.finish(1, 2);
    const run_counts seen = it.now();
    CHECK_FALSE(seen.complete);
    CHECK(seen.verified.counts == tally_counts{2, 3});
    CHECK(seen.inputs[0].verified.counts == tally_counts{1, 2});
    CHECK(seen.inputs[1].verified.counts == tally_counts{1, 1});
  }
}

TEST_CASE("text of a group that was committed before it is in no count") {
  counted it;
  it.counts.open_group(0);
  it.counts.open_group(0);
  it.merge({.input = 0, .group = 1}, 1, 2);
  it.counts.close_group(0, 1, {.text_bytes = 3});
  it.merge({.input = 0, .group = 1}, 4, 5);
  it.counts.close_group(0, 1, {.text_bytes = 3});
  it.merge({.input = 0, .group = 7}, 4, 5);
  CHECK(it.now().verified.counts == tally_counts{1, 2});
}

TEST_CASE("an input that fails after its end keeps the length that it had: what is on its way is still merged") {
  counted it;
  it.counts.fail(0, 3, unreadable("reading failed"));
  it.counts.fail(0, 0, unreadable("reading failed again"));
  CHECK(it.counts.inputs_in_order() == 0);
  it.merge({.input = 0}, 1, 2);
  CHECK(it.counts.inputs_in_order() == 1);
  CHECK(it.now().inputs[0].error == "reading failed");
  CHECK(it.now().inputs[0].error_kind == failure_kind::unreadable);
  CHECK(it.now().verified.counts == tally_counts{1, 2});
}
