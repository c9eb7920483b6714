// Each allocation fails while counts are merged: nothing throws where it must not, every slot is released, and inputs
// that are reported as complete have the right counts.
#include "pipeline/counts/rolling_counts.hpp"
#include "pipeline/flow/collector.hpp"
#include "pipeline/flow/cutter.hpp"
#include "support/failing_resources.hpp"
#include "tests/support/run_coroutine.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <random>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

using namespace gpuhist;
using namespace gpuhist::pipeline;
using test::failing_resource;

namespace {

constexpr unsigned last_tried = 3000;  // no run here makes so many requests
constexpr input_id input_count = 5;

using expected_counts = std::array<std::array<std::uint64_t, 256>, input_count>;

// Invariants that hold at any moment: the totals are the sum of the inputs, and a complete input has the expected
// counts.
void check_report(const rolling_counts& counts, const expected_counts& expected) {
  run_counts current = counts.counts();
  gpu::tally sum(256);
  bool all_are_complete = true;
  std::size_t number = 0;
  for (const input_report& each : current.inputs) {
    sum += each.verified;
    all_are_complete = all_are_complete && each.complete;
    if (each.complete) CHECK(std::ranges::equal(each.verified.counts, expected.at(number)));
    ++number;
  }
  CHECK(sum == current.verified);
  if (!current.complete) return;
  CHECK(number == input_count);
  CHECK(all_are_complete);
}

// A run as a list of operations on its counts. No operation follows one that returns false, as in a run that stops.
struct script {
  std::vector<std::function<bool(rolling_counts&)>> operations;
  expected_counts expected{};

  void merge(const text_owner& owner, unsigned char letter, std::uint32_t bytes) {
    expected.at(owner.input).at(letter) += bytes;
    operations.emplace_back([owner, letter, bytes](rolling_counts& counts) {
      std::array<std::uint32_t, 512> rows{};
      rows[letter] = bytes - 1;
      rows[256 + letter] = 1;
      const std::array<segment, 2> both{segment{.owner = owner, .extent = {0, bytes - 1}, .pane = 1},
                                        segment{.owner = owner, .extent = {bytes - 1, bytes}, .pane = 2}};
      const merged_segments part = counts.merge(both, rows);
      return !part.failure && !counts.failure();
    });
  }

  template <typename Act>
  void then(Act act) {
    operations.emplace_back([act](rolling_counts& counts) {
      act(counts);
      return !counts.failure();
    });
  }

  // Returns whether all operations succeeded.
  bool run(rolling_counts& counts, failing_resource& failing) const {
    const failing_resource::scope armed(failing);
    try {
      return std::ranges::all_of(operations, [&](const auto& each) { return each(counts); });
    } catch (const std::bad_alloc&) {
      return false;
    }
  }
};

group_end damaged_end() {
  return {
      .text_bytes = 7,
      .compressed_bytes = 70,
      .lost_ranges = {{.compressed_begin = 10, .compressed_end = 20, .text_offset = 3, .cause = std::string(40, 'c')},
                      {.compressed_begin = 30, .compressed_end = 40, .text_offset = 5, .cause = std::string(40, 'd')}},
      .number_of_lost_ranges = 2,
      .failure = [](std::uint64_t before) {
        return input_failure{.kind = failure_kind::damaged,
                             .text = "a checksum is wrong, after this many bytes: " + std::to_string(before)};
      }};
}

// A plain input, one of frames in two groups, a damaged one without text, one that fails, and one with lost ranges.
script mixed_run() {
  script all;
  all.merge({.input = 0}, 'a', 5);
  all.merge({.input = 1, .group = 2}, 'b', 6);
  all.merge({.input = 1, .group = 1, .frame = 1}, 'b', 7);
  all.then([](rolling_counts& counts) { counts.finish(0, 9); });
  all.merge({.input = 4, .group = 1}, 'e', 7);
  all.then([](rolling_counts& counts) { counts.close_group(1, 2, {.text_bytes = 6, .compressed_bytes = 60}); });
  all.then([](rolling_counts& counts) { counts.conclude({.input = 1, .group = 1, .frame = 1}, 7, true); });
  all.then([](rolling_counts& counts) {
    group_end empty = damaged_end();
    empty.text_bytes = 0;
    counts.close_group(2, 1, std::move(empty));
    counts.finish(2, 0);
  });
  all.merge({.input = 0}, 'a', 4);
  all.then([](rolling_counts& counts) {
    counts.close_group(1, 1, {.text_bytes = 7, .compressed_bytes = 30});
    counts.finish(1, 13);
  });
  all.merge({.input = 3}, 'd', 3);
  all.then([](rolling_counts& counts) {
    counts.fail(3, 3, {.kind = failure_kind::unreadable, .text = "the disk made an error that takes words"});
  });
  all.then([](rolling_counts& counts) { counts.close_group(4, 1, damaged_end()); });
  return all;
}

}  // namespace

TEST_CASE(
    "whichever allocation fails, the totals are the sum of the inputs, and complete inputs have the right counts") {
  const script all = mixed_run();
  for (unsigned nth = 1; nth <= last_tried; ++nth) {
    CAPTURE(nth);
    rolling_counts counts(gpu::partition::identity(), gpu::partition::identity(),
                          {"plain", "frames", "damaged at its begin", "unreadable", "damaged within"});
    for (const input_id each : {1U, 1U, 2U, 4U}) counts.open_group(each);
    const std::stop_source stop;
    counts.stop_on_failure(stop);
    failing_resource failing(test::resource::memory, nth);
    const bool is_whole = all.run(counts, failing);
    check_report(counts, all.expected);
    CHECK(stop.stop_requested() == (counts.failure() != nullptr));
    if (!failing.was_reached()) {
      CHECK(is_whole);
      CHECK(nth > 40);  // a run makes more allocations than this
      break;
    }
    run_counts current = counts.counts();
    CHECK_FALSE(current.complete);  // inputs 2 to 4 are damaged in any case, and never reported as complete
    for (const std::size_t wrong : {2U, 3U, 4U}) CHECK_FALSE(current.inputs[wrong].complete);
  }
}

namespace {

// Counts at once, in submit(), and completes its jobs in reverse order when it holds three.
class backward_engine final : public gpu::engine {
 public:
  std::string_view name() const override { return "backward"; }
  const gpu::row_layout& layout() const override { return rows_; }
  void register_memory(std::span<std::byte>, std::shared_ptr<const void>) override {}
  gpu::engine_stats stats() const override { return {}; }

  void submit(gpu::counting_job& job) override {
    std::fill(job.rows.begin(), job.rows.end(), 0U);
    for (std::size_t i = 0; i < job.extents.size(); ++i) {
      for (std::size_t at = job.extents[i].begin; at < job.extents[i].end; ++at) {
        ++job.rows[i * 256 + std::to_integer<std::size_t>(job.bytes[at])];
      }
    }
    const std::unique_ptr<int> needs_memory = std::make_unique<int>(1);  // may throw: then the job is not accepted
    pending_.at(count_++) = &job;
    if (count_ == pending_.size()) answer();
  }

  void answer() {
    while (count_ > 0) {
      gpu::counting_job* const job = pending_.at(--count_);
      job->on_complete(*job, nullptr);
    }
  }

 private:
  gpu::row_layout rows_ = gpu::partition::identity();
  std::array<gpu::counting_job*, 3> pending_{};
  std::size_t count_ = 0;
};

// Chunks of three segments: the end of an input, a small input, and the beginning of the next one.
struct collected_run {
  static constexpr unsigned slot_count = 4;
  async::worker_pool pool{1};
  backward_engine engine;
  ring slots{{.slots = slot_count, .chunk_bytes = 64, .max_extents = 8, .row_columns = 256}};
  rolling_counts counts{gpu::partition::identity(), gpu::partition::identity(), {"0", "1", "2", "3", "4"}};
  std::stop_source stop;
  bool continues;
  unsigned merges = 0;
  collector collected{slots, engine, counts, stop, [this] { ++merges; }};
  cutter cut{slots, collected};
  expected_counts expected{};
  std::array<std::uint64_t, input_count> lengths{};

  explicit collected_run(bool continues_after_loss) : continues(continues_after_loss) {
    if (continues) collected.continue_after_loss([] { throw std::bad_alloc(); });
  }

  void feed(failing_resource& failing) {
    std::mt19937 chosen(11);
    const failing_resource::scope armed(failing);
    for (input_id input = 0; input < input_count; ++input) {
      for (int piece = 0; piece < 3; ++piece) {
        const auto letter = static_cast<unsigned char>('a' + chosen() % 26);
        fill(input, letter, 1 + chosen() % 40);
      }
      try {
        counts.finish(input, lengths.at(input));
      } catch (const std::bad_alloc&) {
        return finish();  // as the reader of the input ends the run
      }
    }
    finish();
  }

  void fill(input_id input, unsigned char letter, std::size_t bytes) {
    while (bytes > 0) {
      auto reserved = cut.try_reserve(bytes);
      while (!reserved) {
        engine.answer();
        reserved = cut.try_reserve(bytes);
      }
      const std::size_t part = reserved->bytes.size();
      std::fill(reserved->bytes.begin(), reserved->bytes.end(), static_cast<std::byte>(letter));
      cut.commit(*reserved, part, {.input = input});
      expected.at(input).at(letter) += part;
      lengths.at(input) += part;
      bytes -= part;
    }
  }

  void finish() {
    cut.flush();
    engine.answer();
  }
};

}  // namespace

TEST_CASE("whichever allocation of a collector fails, it settles, all slots are released, and a loss is recorded") {
  for (const bool continues : {false, true}) {
    CAPTURE(continues);
    for (unsigned nth = 1; nth <= last_tried; ++nth) {
      CAPTURE(nth);
      collected_run run(continues);
      failing_resource failing(test::resource::memory, nth);
      run.feed(failing);
      test::run_wait(run.pool, [&] { return run.collected.settled(); });
      for (unsigned i = 0; i < collected_run::slot_count; ++i) CHECK(run.slots.try_acquire() != nullptr);
      CHECK(run.merges > 0);
      check_report(run.counts, run.expected);
      run_counts current = run.counts.counts();
      const bool is_reported = run.collected.lost() || run.collected.failure();
      if (is_reported && !continues) CHECK(run.stop.stop_requested());
      if (!is_reported) CHECK(run.counts.merged_bytes() == current.verified.bytes());
      if (!failing.was_reached()) {
        CHECK(current.complete);
        CHECK_FALSE(is_reported);
        CHECK(nth > 20);
        break;
      }
    }
  }
}

TEST_CASE("the callback after a merge may throw: the run is stopped, and the collector settles") {
  async::worker_pool pool(1);
  backward_engine engine;
  ring slots{{.slots = 4, .chunk_bytes = 8, .max_extents = 2, .row_columns = 256}};
  rolling_counts counts{gpu::partition::identity(), gpu::partition::identity(), {"only"}};
  const std::stop_source stop;
  collector collected(slots, engine, counts, stop, [] { throw std::bad_alloc(); });
  cutter cut(slots, collected);
  const auto reserved = cut.try_reserve(8);
  REQUIRE(reserved);
  std::fill(reserved->bytes.begin(), reserved->bytes.end(), std::byte{'x'});
  cut.commit(*reserved, 8, {.input = 0});
  engine.answer();
  test::run_wait(pool, [&] { return collected.settled(); });
  CHECK(counts.merged_bytes() == 8);
  CHECK(stop.stop_requested());
  CHECK(collected.failure() != nullptr);
}
