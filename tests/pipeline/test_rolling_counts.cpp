// Counts of a run in progress: frames, groups, inputs, and which of their bytes are verified. The coarsest partition:
// it loses nothing compared with the 256 byte values, and has no more classes than it needs.
#include "pipeline/counts/partitioning.hpp"
#include "pipeline/counts/rolling_counts.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

using namespace gpuhist;
using namespace gpuhist::pipeline;
using gpuhist::config::find_scheme;
using gpuhist::config::scheme;
using gpuhist::gpu::partition;
using gpuhist::gpu::tally;
using gpuhist::pipeline::coarsest_partition;
using gpuhist::pipeline::lines_in;
using gpuhist::pipeline::view_through;

namespace {

// Class 0: '\n'; class 1: all other values. Rows have 256 columns, as from a device.
gpu::partition lines_and_rest() {
  gpu::partition classes;
  classes.class_of.fill(1);
  classes.class_of['\n'] = 0;
  classes.classes = 2;
  return classes;
}

struct counted {
  rolling_counts counts{lines_and_rest(), gpu::partition::identity(), {"a", "b"}};

  void merge(const text_owner& owner, std::uint32_t newlines, std::uint32_t letters) {
    std::vector<std::uint32_t> row(256);
    row['\n'] = newlines;
    row['x'] = letters;
    const segment part{.owner = owner, .extent = {0, newlines + letters}};
    CHECK_FALSE(counts.merge({&part, 1}, row).failure);
  }

  void drop(const text_owner& owner, std::uint32_t bytes) {
    const segment part{.owner = owner, .extent = {0, bytes}};
    counts.drop({&part, 1}, "the engine failed");
  }

  run_counts snapshot() const { return counts.counts(); }
};

using tally_counts = std::vector<std::uint64_t>;

input_failure unreadable(const std::string& text) { return {.kind = failure_kind::unreadable, .text = text}; }

}  // namespace

TEST_CASE("totals are the sum of the inputs, folded to the partition") {
  counted tested;
  tested.merge({.input = 0}, 1, 2);
  tested.merge({.input = 1}, 10, 20);
  tested.merge({.input = 0}, 100, 200);
  const run_counts snapshot = tested.snapshot();
  CHECK(snapshot.verified.counts == tally_counts{111, 222});
  CHECK(snapshot.inputs[0].verified.counts == tally_counts{101, 202});
  CHECK(snapshot.inputs[1].verified.counts == tally_counts{10, 20});
  CHECK(tested.counts.merged_bytes() == 333);
  CHECK(tested.counts.merged_bytes(0) == 303);
}

TEST_CASE("a frame is provisional until its verdict and all of its bytes have arrived, in either order") {
  for (const bool verdict_first : {true, false}) {
    CAPTURE(verdict_first);
    counted tested;
    const text_owner frame{.input = 0, .group = tested.counts.open_group(0), .frame = 7};
    tested.merge(frame, 1, 1);
    CHECK(tested.snapshot().verified.bytes() == 0);
    CHECK(tested.snapshot().unverified.counts == tally_counts{1, 1});
    if (verdict_first) tested.counts.conclude(frame, 5, true);
    CHECK(tested.snapshot().verified.bytes() == 0);
    tested.merge(frame, 2, 1);
    if (!verdict_first) tested.counts.conclude(frame, 5, true);
    CHECK(tested.snapshot().verified.counts == tally_counts{3, 2});
    CHECK(tested.snapshot().unverified.bytes() == 0);
  }
}

TEST_CASE("text that was decoded from a damaged frame is never part of the verified counts") {
  for (const bool concluded : {true, false}) {
    counted tested;
    const group_id group = tested.counts.open_group(0);
    const text_owner damaged{.input = 0, .group = group, .frame = 2};
    tested.merge({.input = 0, .group = group}, 1, 0);
    tested.merge(damaged, 4, 4);
    if (concluded) tested.counts.conclude(damaged, 8, false);
    tested.counts.close_group(0, group, {.text_bytes = 9, .compressed_bytes = 3, .failure = [](std::uint64_t before) {
                                           return input_failure{
                                               .kind = failure_kind::damaged,
                                               .text = "frame 2 is damaged behind " + std::to_string(before)};
                                         }});
    tested.counts.finish(1, 0);
    const run_counts snapshot = tested.snapshot();
    CHECK(snapshot.verified.counts == tally_counts{1, 0});
    CHECK(snapshot.unverified.counts == tally_counts{4, 4});
    CHECK(snapshot.inputs[0].unverified.counts == tally_counts{4, 4});
    CHECK(snapshot.inputs[0].error == "frame 2 is damaged behind 0");
    CHECK(snapshot.inputs[0].error_kind == failure_kind::damaged);
    CHECK(snapshot.inputs[0].compressed_bytes == 3);
    CHECK_FALSE(snapshot.inputs[0].complete);
    CHECK(snapshot.inputs[1].complete);
    CHECK_FALSE(snapshot.complete);
  }
}

TEST_CASE("merged text of a younger group becomes visible only when the groups before it are whole") {
  counted tested;
  const group_id first = tested.counts.open_group(0);
  const group_id second = tested.counts.open_group(0);
  tested.merge({.input = 0, .group = second}, 10, 0);
  tested.counts.close_group(0, second, {.text_bytes = 10, .compressed_bytes = 8});
  CHECK(tested.snapshot().verified.bytes() == 0);
  CHECK(tested.counts.merged_bytes(0) == 0);
  CHECK(tested.counts.merged_bytes() == 10);
  tested.merge({.input = 0, .group = first}, 1, 0);
  CHECK(tested.snapshot().verified.counts == tally_counts{1, 0});
  tested.counts.close_group(0, first, {.text_bytes = 3, .compressed_bytes = 4});
  CHECK(tested.snapshot().verified.counts == tally_counts{1, 0});
  CHECK(tested.counts.merged_bytes(0) == 1);
  tested.merge({.input = 0, .group = first}, 1, 1);
  CHECK(tested.snapshot().verified.counts == tally_counts{12, 1});
  tested.counts.finish(0, 13);
  CHECK(tested.snapshot().inputs[0].complete);
  CHECK(tested.snapshot().inputs[0].compressed_bytes == 8);
}

TEST_CASE("text after a damaged group is not counted, whether it was merged before the damage was known or after") {
  counted tested;
  const group_id first = tested.counts.open_group(0);
  const group_id second = tested.counts.open_group(0);
  const group_id third = tested.counts.open_group(0);
  tested.merge({.input = 0, .group = third}, 100, 0);
  tested.merge({.input = 0, .group = second, .frame = 1}, 10, 0);
  tested.counts.close_group(0, second, {.text_bytes = 10, .compressed_bytes = 8, .failure = [](std::uint64_t before) {
                                          return input_failure{.kind = failure_kind::damaged,
                                                               .text = "damaged behind " + std::to_string(before)};
                                        }});
  tested.merge({.input = 0, .group = first}, 0, 5);
  tested.counts.close_group(0, first, {.text_bytes = 5, .compressed_bytes = 4});
  tested.merge({.input = 0, .group = third}, 100, 0);
  tested.counts.conclude({.input = 0, .group = third, .frame = 2}, 7, true);
  tested.counts.close_group(0, third, {.text_bytes = 200, .compressed_bytes = 12});
  const run_counts snapshot = tested.snapshot();
  CHECK(snapshot.verified.counts == tally_counts{0, 5});
  CHECK(snapshot.unverified.counts == tally_counts{10, 0});
  CHECK(snapshot.inputs[0].error == "damaged behind 5");
  CHECK(snapshot.inputs[0].error_kind == failure_kind::damaged);
  CHECK_FALSE(snapshot.inputs[0].complete);
}

TEST_CASE("an input is complete when it has ended, all of its text was merged, and nothing is unverified") {
  counted tested;
  tested.counts.finish(1, 0);
  CHECK_FALSE(tested.snapshot().complete);
  tested.counts.finish(0, 3);
  CHECK_FALSE(tested.snapshot().complete);
  tested.merge({.input = 0}, 1, 2);
  CHECK(tested.snapshot().complete);
}

TEST_CASE("an input is finished after its observer, and its report has what was observed, also if it is damaged") {
  for (const bool is_damaged : {false, true}) {
    CAPTURE(is_damaged);
    counted tested;
    tested.counts.begin_observing(0);
    tested.counts.open_group(0);
    tested.merge({.input = 0, .group = 1}, 1, 2);
    group_end end{.text_bytes = 3};
    if (is_damaged) {
      end.failure = [](std::uint64_t at) {
        return input_failure{.kind = failure_kind::damaged, .text = "damaged behind " + std::to_string(at)};
      };
    }
    tested.counts.close_group(0, 1, end);
    tested.counts.finish(0, 3);
    CHECK(tested.counts.inputs_in_order() == 0);
    const observed_numbers found{.lines = 2, .matches = {{1, 2}, {1, 1}}, .values = {1.5}};
    tested.counts.end_observing(0, found);
    CHECK(tested.counts.inputs_in_order() == 1);
    CHECK(tested.snapshot().inputs[0].observed == found);
    CHECK(tested.snapshot().inputs[0].complete == !is_damaged);
    CHECK_FALSE(tested.snapshot().inputs[1].observed);
  }
}

TEST_CASE("an input with dropped text finishes with the rest of its text, and reports where its counts end") {
  counted tested;
  tested.merge({.input = 0}, 1, 2);
  tested.drop({.input = 0}, 4);
  tested.counts.finish(0, 10);
  CHECK(tested.counts.inputs_in_order() == 0);  // 3 bytes are still to come
  tested.drop({.input = 0}, 3);
  CHECK(tested.counts.inputs_in_order() == 1);
  const run_counts snapshot = tested.snapshot();
  CHECK_FALSE(snapshot.complete);
  CHECK_FALSE(snapshot.inputs[0].complete);
  CHECK(snapshot.inputs[0].error == "not counted from offset 3 on: the engine failed");
  CHECK(snapshot.inputs[0].error_kind == failure_kind::not_counted);
  CHECK(snapshot.verified.counts == tally_counts{1, 2});
}

TEST_CASE("a group with dropped text ends the counts of its input when its turn comes") {
  counted tested;
  for (int group = 1; group <= 3; ++group) tested.counts.open_group(0);
  tested.drop({.input = 0, .group = 2}, 5);
  tested.merge({.input = 0, .group = 3}, 0, 7);
  tested.counts.close_group(0, 3, {.text_bytes = 7});
  tested.counts.close_group(0, 2, {.text_bytes = 5});
  CHECK(tested.snapshot().inputs[0].error.empty());  // the first group may still end before that
  tested.merge({.input = 0, .group = 1}, 1, 3);
  tested.counts.close_group(0, 1, {.text_bytes = 4});
  CHECK(tested.snapshot().inputs[0].error == "not counted from offset 4 on: the engine failed");
  CHECK(tested.snapshot().inputs[0].error_kind == failure_kind::not_counted);
  CHECK(tested.snapshot().verified.counts == tally_counts{1, 3});
  tested.merge({.input = 0, .group = 3}, 0, 7);  // no effect any more
  CHECK(tested.snapshot().verified.counts == tally_counts{1, 3});
}

TEST_CASE("text that is merged after the end of its input is not counted, and the counts are incomplete") {
  for (const bool failed : {true, false}) {
    CAPTURE(failed);
    counted tested;
    tested.merge({.input = 0}, 1, 2);
    if (failed) {
      tested.counts.fail(0, 3, unreadable("the stream failed"));
    } else {
      tested.counts.finish(0, 3);
    }
    CHECK(tested.counts.inputs_in_order() == 1);
    tested.merge({.input = 0}, 4, 5);
    tested.merge({.input = 0, .group = 1}, 4, 5);
    tested.merge({.input = 1}, 1, 1);
    tested.counts.finish(1, 2);
    const run_counts snapshot = tested.snapshot();
    CHECK_FALSE(snapshot.complete);
    CHECK(snapshot.verified.counts == tally_counts{2, 3});
    CHECK(snapshot.inputs[0].verified.counts == tally_counts{1, 2});
    CHECK(snapshot.inputs[1].verified.counts == tally_counts{1, 1});
  }
}

TEST_CASE("text that is merged after the end of its group is not counted") {
  counted tested;
  tested.counts.open_group(0);
  tested.counts.open_group(0);
  tested.merge({.input = 0, .group = 1}, 1, 2);
  tested.counts.close_group(0, 1, {.text_bytes = 3});
  tested.merge({.input = 0, .group = 1}, 4, 5);
  tested.counts.close_group(0, 1, {.text_bytes = 3});
  tested.merge({.input = 0, .group = 7}, 4, 5);
  CHECK(tested.snapshot().verified.counts == tally_counts{1, 2});
}

TEST_CASE("text of a group that is decoded again may arrive after the input has ended, and is not counted") {
  for (const bool is_late : {false, true}) {
    CAPTURE(is_late);
    counted tested;
    const text_owner first{.input = 0, .group = tested.counts.open_group(0)};
    const text_owner guessed{.input = 0, .group = tested.counts.open_group(0)};
    tested.merge(first, 1, 1);
    if (!is_late) tested.merge(guessed, 10, 10);
    tested.counts.close_group(0, first.group, {.text_bytes = 2});
    tested.counts.close_group(0, guessed.group, {.text_bytes = 20, .is_to_be_repeated = true});
    tested.counts.discard_groups(0, guessed.group);
    const text_owner again{.input = 0, .group = tested.counts.open_group(0)};
    tested.merge(again, 100, 0);
    tested.counts.close_group(0, again.group, {.text_bytes = 100});
    tested.counts.finish(0, 102);
    tested.counts.finish(1, 0);
    if (is_late) tested.merge(guessed, 10, 10);
    const run_counts counted = tested.snapshot();
    CHECK(counted.complete);
    CHECK(counted.inputs[0].complete);
    CHECK(counted.verified.counts == tally_counts{101, 1});
    CHECK(counted.unverified.bytes() == 0);
  }
}

TEST_CASE("an input that fails again after its end keeps its length, and text up to there is still merged") {
  counted tested;
  tested.counts.fail(0, 3, unreadable("reading failed"));
  tested.counts.fail(0, 0, unreadable("reading failed again"));
  CHECK(tested.counts.inputs_in_order() == 0);
  tested.merge({.input = 0}, 1, 2);
  CHECK(tested.counts.inputs_in_order() == 1);
  CHECK(tested.snapshot().inputs[0].error == "reading failed");
  CHECK(tested.snapshot().inputs[0].error_kind == failure_kind::unreadable);
  CHECK(tested.snapshot().verified.counts == tally_counts{1, 2});
}

namespace {

// Two archives whose members wait for verdicts, counted with little memory for members that wait and with much.
class waiting_members {
 public:
  explicit waiting_members(unsigned seed) : random_(seed) {
    spilling_.counts.limit_waiting(0);
    for (counted* each : both()) each->counts.record_completions();
  }

  void step() {
    const unsigned choice = random_() % 8;
    if (choice < 3 || members_.empty()) return open();
    advance(choice);
  }

  void end() {
    while (!members_.empty()) advance(random_() % 8);
    for (counted* each : both()) {
      for (const input_id archive : {0U, 1U}) each->counts.finish(archive, 0);
    }
  }

  void check() const {
    const run_counts a = in_memory_.snapshot();
    const run_counts b = spilling_.snapshot();
    CHECK(a.verified == b.verified);
    CHECK(a.unverified == b.unverified);
    CHECK(a.complete == b.complete);
    CHECK(reports_of(a.inputs) == reports_of(b.inputs));
    CHECK(in_memory_.counts.incomplete_inputs() == spilling_.counts.incomplete_inputs());
    CHECK(in_memory_.counts.completed() == spilling_.counts.completed());
    CHECK(in_memory_.counts.waiting_members() == spilling_.counts.waiting_members());
    CHECK(in_memory_.counts.inputs_in_order() == spilling_.counts.inputs_in_order());
  }

  [[nodiscard]] const rolling_counts& spilling() const { return spilling_.counts; }
  [[nodiscard]] std::size_t opened() const { return opened_; }

 private:
  struct member {
    input_id input = 0;
    std::uint32_t bytes = 0;
    std::uint32_t merged = 0;
    bool waits = false;
  };

  static std::vector<input_report> reports_of(const input_reports& all) {
    std::vector<input_report> reports;
    for (const input_report& each : all) reports.push_back(each);
    return reports;
  }

  void advance(unsigned choice) {
    std::swap(members_[random_() % members_.size()], members_.back());
    member& last = members_.back();
    if (last.merged < last.bytes) return merge(last);
    if (!last.waits) return wait(last);
    if (choice == 7) return fail(last);
    end(last);
  }

  std::vector<counted*> both() { return {&in_memory_, &spilling_}; }

  void open() {
    const input_id archive = random_() % 2;
    member made{.bytes = static_cast<std::uint32_t>(random_() % 3 * (random_() % 50))};
    for (counted* each : both()) {
      made.input = each->counts.open_member((archive == 0 ? "a/" : "b/") + std::to_string(opened_), archive);
      each->counts.represent_by_members(archive);
      each->counts.open_group(made.input);
    }
    ++opened_;
    members_.push_back(made);
  }

  // Chunks may be counted after the member has begun to wait.
  void merge(member& each) {
    if (!each.waits && random_() % 4 == 0) return wait(each);
    const auto bytes = static_cast<std::uint32_t>(1 + random_() % (each.bytes - each.merged));
    for (counted* to : both()) to->merge({.input = each.input, .group = 1, .frame = 1}, bytes / 3, bytes - bytes / 3);
    each.merged += bytes;
  }

  void wait(member& each) {
    each.waits = true;
    for (counted* to : both()) to->counts.await_verdict(each.input, each.bytes);
  }

  void fail(const member& each) {
    for (counted* to : both()) to->counts.fail(each.input, 0, unreadable("its padding is missing"));
  }

  void end(const member& each) {
    const bool verified = random_() % 3 != 0;
    const auto failure = [](std::uint64_t) { return unreadable("its frame is damaged"); };
    for (counted* to : both()) {
      if (verified && each.bytes > 0)
        to->counts.conclude({.input = each.input, .group = 1, .frame = 1}, each.bytes, true);
      to->counts.close_group(each.input, 1, {.text_bytes = each.bytes});
      if (!verified) to->counts.fail(each.input, 0, failure(0));
      to->counts.finish(each.input, each.bytes);
    }
    members_.pop_back();
  }

  std::mt19937 random_;
  counted in_memory_;
  counted spilling_;
  std::vector<member> members_;
  std::size_t opened_ = 0;
};

}  // namespace

TEST_CASE("members that wait for a verdict have the same counts whether they are in memory or spilled") {
  for (unsigned seed = 0; seed < 50; ++seed) {
    CAPTURE(seed);
    waiting_members tested(seed);
    for (unsigned i = 0; i < 60; ++i) {
      tested.step();
      tested.check();
    }
    tested.end();
    tested.check();
    CHECK(tested.spilling().waiting_members() == 0);
    CHECK(tested.spilling().inputs_in_order() == tested.opened());
  }
}

TEST_CASE("the reports of thousands of members are in the order in which the members were opened") {
  waiting_members tested(1);
  for (unsigned i = 0; i < 12'000; ++i) {
    tested.step();
    if (i % 5000 == 4999) tested.check();
  }
  tested.end();
  tested.check();
  CHECK(tested.spilling().inputs_in_order() == tested.opened());
  std::vector<int> last{-1, -1};
  std::size_t archive = 0;
  for (std::size_t i = 0; i < tested.opened(); ++i) {
    const std::string name = tested.spilling().input_in_order(i).name;
    if (name.starts_with("b/")) archive = 1;
    CHECK(name.starts_with(archive == 0 ? "a/" : "b/"));
    CHECK(std::stoi(name.substr(2)) > last[archive]);
    last[archive] = std::stoi(name.substr(2));
  }
}

namespace {

using generator = std::mt19937_64;

scheme random_scheme(generator& random) {
  const auto buckets = 1 + random() % (random() % 4 == 0 ? 256 : 9);
  scheme result{"random", {}, {}};
  for (std::size_t i = 0; i < buckets; ++i) result.buckets.push_back(std::to_string(i));
  for (auto& bucket : result.bucket_of) bucket = static_cast<std::uint16_t>(random() % buckets);
  return result;
}

std::vector<scheme> random_schemes(generator& random) {
  std::vector<scheme> result;
  for (auto remaining = random() % 4; remaining > 0; --remaining) result.push_back(random_scheme(random));
  return result;
}

tally random_counts(generator& random) {
  tally result(256);
  for (auto& count : result.counts) count = random() >> (random() % 48 + 8);
  return result;
}

/// The oracle: folds 256 counts to those of a partition.
tally folded_to(const tally& all, const partition& classes) {
  tally folded(classes.classes);
  for (std::size_t byte = 0; byte < 256; ++byte) folded.counts.at(classes.class_of[byte]) += all.counts[byte];
  return folded;
}

std::vector<std::uint64_t> fold_of_all(const tally& all, const scheme& folding) {
  std::vector<std::uint64_t> buckets(folding.buckets.size());
  for (std::size_t byte = 0; byte < 256; ++byte) buckets.at(folding.bucket_of[byte]) += all.counts[byte];
  return buckets;
}

}  // namespace

TEST_CASE("the fold of the coarsest partition equals the fold of the 256 counts, and so does the number of lines") {
  generator random(1);
  for (int round = 0; round < 300; ++round) {
    const std::vector<scheme> schemes = random_schemes(random);
    const partition coarsest = coarsest_partition(schemes);
    const tally all = random_counts(random);
    const tally counted = folded_to(all, coarsest);
    CHECK(lines_in(counted, coarsest) == all.counts['\n']);
    for (const scheme& each : schemes) {
      const std::vector<std::uint64_t> folded = view_through(each, coarsest).fold(counted);
      CHECK(folded == fold_of_all(all, each));
      CHECK(std::accumulate(folded.begin(), folded.end(), std::uint64_t{0}) == all.bytes());
    }
  }
}

TEST_CASE("two byte values share a class exactly if they share a bucket in every scheme and neither ends a line") {
  generator random(2);
  for (int round = 0; round < 20; ++round) {
    const std::vector<scheme> schemes = random_schemes(random);
    const partition coarsest = coarsest_partition(schemes);
    std::size_t wrong = 0;
    for (std::size_t a = 0; a < 256; ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        bool alike = a != '\n' && b != '\n';
        for (const scheme& each : schemes) alike = alike && each.bucket_of[a] == each.bucket_of[b];
        if (alike != (coarsest.class_of[a] == coarsest.class_of[b])) ++wrong;
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("classes are numbered without gaps in the order of their smallest byte value") {
  generator random(3);
  for (int round = 0; round < 50; ++round) {
    const partition coarsest = coarsest_partition(random_schemes(random));
    int next = 0;
    for (const int byte_class : coarsest.class_of) {
      CHECK(byte_class <= next);
      if (byte_class == next) ++next;
    }
    CHECK(coarsest.classes == next);
  }
}

TEST_CASE("the partitions of the built-in schemes have the sizes that follow from their definitions") {
  const std::vector<scheme> none;
  CHECK(coarsest_partition(none).classes == 2);  // '\n' and the rest
  CHECK(coarsest_partition(std::vector{find_scheme("letters")}).classes == 9);
  CHECK(coarsest_partition(std::vector{find_scheme("classes")}).classes == 8);
  CHECK(coarsest_partition(std::vector{find_scheme("bytes")}) == partition::identity());
  CHECK(coarsest_partition(std::vector{find_scheme("letters"), find_scheme("bytes")}) == partition::identity());
  CHECK(coarsest_partition(std::vector{find_scheme("letters"), find_scheme("classes")}).classes == 14);
}

TEST_CASE("a scheme can be folded from any partition that is finer than it") {
  generator random(4);
  const tally all = random_counts(random);
  for (const std::string_view name : gpuhist::config::scheme_names()) {
    const scheme folding = find_scheme(name);
    CHECK(view_through(folding, partition::identity()).fold(all) == fold_of_all(all, folding));
  }
}

TEST_CASE("an empty tally folds to zeros") {
  const partition coarsest = coarsest_partition(std::vector{find_scheme("letters")});
  CHECK(view_through(find_scheme("letters"), coarsest).fold(tally{}) == std::vector<std::uint64_t>(8));
  CHECK(lines_in(tally{}, coarsest) == 0);
}

TEST_CASE("built-in, custom and folded schemes together fold from their partition as from the 256 counts") {
  generator random(8);
  const std::vector<std::string> all = {"letters", "alphabet",       "classes",       "utf8",
                                        "a=\\n",   "x=a-zA-M;y=0-5", "h=\\x80-\\xff", "bytes"};
  for (int round = 0; round < 200; ++round) {
    std::vector<std::string> typed;
    for (const std::string& each : all) {
      if (random() % 3 == 0) typed.push_back(each);
    }
    const auto schemes = gpuhist::config::make_schemes(typed, random() % 2 == 0);
    const partition coarsest = coarsest_partition(schemes);
    const tally counts = random_counts(random);
    const tally folded = folded_to(counts, coarsest);
    for (const scheme& each : schemes) CHECK(view_through(each, coarsest).fold(folded) == fold_of_all(counts, each));
    CHECK(lines_in(folded, coarsest) == counts.counts['\n']);
  }
}
