// Runs that continue from a prefix that an earlier run counted: the report is that of one run.
#include "tests/io/gzip_samples.hpp"
#include "tests/pipeline/parallel_runs.hpp"

#include <chrono>
#include <thread>

using namespace gpuhist;
using namespace gpuhist::command;
using namespace gpuhist::pipeline;

namespace {

// Every prefix that the run reports, with the outcome.
struct observed_run {
  outcome finished;
  std::vector<input_prefix> prefixes;
};

plan continued(plan planned, const input_prefix* from) {
  listed_input only{.name = planned.inputs.front(), .regular = true};
  if (from != nullptr) only.counted = std::make_shared<const input_prefix>(*from);
  planned.looked_up = std::make_shared<looked_up_inputs>(looked_up_inputs{.inputs = {std::move(only)}});
  return planned;
}

// Stops after `stop_after`; zero: does not.
observed_run run_from(const plan& planned, const input_prefix* from, unsigned seed,
                      std::chrono::microseconds stop_after) {
  observed_run made;
  std::stop_source stop;
  run_hooks hooks = test::shuffled(seed);
  hooks.inputs_completed = [](std::span<const completed_input>) {};
  hooks.prefixes = [&](std::span<const input_prefix> found) {
    made.prefixes.insert(made.prefixes.end(), found.begin(), found.end());
  };
  hooks.prefix_interval = std::chrono::milliseconds(1);
  hooks.stop = stop.get_token();
  const std::jthread stopping([&] {
    if (stop_after.count() == 0) return;
    std::this_thread::sleep_for(stop_after);
    stop.request_stop();
  });
  made.finished = run(continued(planned, from), hooks);
  return made;
}

void check_same(const input_report& got, const input_report& expected) {
  CHECK(got.name == expected.name);
  CHECK(got.format == expected.format);
  CHECK(got.complete == expected.complete);
  CAPTURE(got.error);
  CAPTURE(expected.error);
  CHECK(got.verified == expected.verified);
  // the length of the text before an error, and its place, may depend on how the bytes were cut (decoder_contract)
  if (expected.error.find(" is damaged (") != std::string::npos) {
    CHECK(got.error.substr(0, got.error.find(" is ")) == expected.error.substr(0, expected.error.find(" is ")));
    CHECK(got.number_of_lost_ranges == expected.number_of_lost_ranges);
    return;
  }
  CHECK(got.error == expected.error);
  CHECK(got.compressed_bytes == expected.compressed_bytes);
  CHECK(got.unverified == expected.unverified);
  CHECK(got.lost_ranges == expected.lost_ranges);
}

// Stops runs, and continues the last prefix, until a run reaches the end. Returns the number of continued runs.
unsigned check_continued(const plan& planned, test::dice& random, const input_report& whole) {
  std::optional<input_prefix> last;
  unsigned continued_runs = 0;
  for (unsigned round = 0;; ++round) {
    const auto stop_after = std::chrono::microseconds(round < 20 ? random(1, 3000) : 0);
    continued_runs += last ? 1 : 0;
    const observed_run next = run_from(planned, last ? &*last : nullptr, random(), stop_after);
    REQUIRE(next.finished.result.inputs.size() == 1);
    const input_report& report = next.finished.result.inputs[0];
    for (const input_prefix& each : next.prefixes) {
      CHECK(each.stored_bytes() >= (last ? last->stored_bytes() : 0));
      CHECK(each.text_bytes() <= whole.verified.bytes() + whole.unverified.bytes());
    }
    if (!next.prefixes.empty()) last = next.prefixes.back();
    if (report.error_kind == failure_kind::stopped || report.error_kind == failure_kind::not_read) continue;
    check_same(report, whole);
    CHECK(next.finished.result.verified == whole.verified);
    CHECK(next.finished.result.unverified == report.unverified);
    return continued_runs;
  }
}

plan with_pairs(const plan& sized, const std::string& name) {
  config::options typed;
  typed.inputs = {name};
  typed.run.counting.schemes = {"letters"};
  typed.run.counting.pairs = true;
  typed.run.counting.counting_engine = gpuhist::engine::host;
  typed.run.counting.threads = sized.threads;
  plan made = make_plan(typed);
  made.buffers = sized.buffers;
  return made;
}

struct random_input {
  test::temporary_folder folder;
  std::string name;
  random_input(const test::byte_vector& content) : name(folder.file("input", test::characters(content))) {}
};

// A later end of a frame, or of plain text.
input_prefix random_end(test::dice& random, const test::decoder_sample& sample, bool is_plain,
                        const input_prefix& begin) {
  input_prefix end;
  if (is_plain) {
    const auto remaining = static_cast<std::uint32_t>(sample.plain.size() - begin.text_before);
    end.text_before = begin.text_before + random(1, remaining);
    return end;
  }
  const auto remaining = static_cast<std::uint32_t>(sample.ends.size() - begin.frames);
  end.frames = begin.frames + random(1, remaining);
  const auto& frame = sample.ends[end.frames - 1];
  end.text_before = frame.plain;
  end.counted.compressed_bytes = frame.packed;
  return end;
}

test::byte_vector damaged(test::dice& random, test::byte_vector packed) {
  if (!packed.empty()) packed[random() % packed.size()] ^= std::byte{1};
  return packed;
}

}  // namespace

TEST_CASE("a run that continues from any prefix has the report of one run") {
  test::watchdog watchdog;
  unsigned continued_runs = 0;
  for (unsigned seed = 1; seed <= 240 / test::fewer; ++seed) {
    watchdog.moved(seed);
    CAPTURE(seed);
    test::dice random(seed);
    const std::uint32_t chunk = random(600, 1500);
    const unsigned kind = random(0, 3);
    test::byte_vector content =
        kind == 0 ? test::noise(random(0, 300'000), seed) : test::random_archive(random, chunk, 60).packed;
    if (kind == 3) content = damaged(random, std::move(content));
    const random_input input(content);
    plan planned = test::random_plan(random, {input.name}, chunk);
    if (!planned.decodes_on_device && random(0, 2) == 0) planned = with_pairs(planned, input.name);
    planned.forced_format = io::format_named(kind == 0 ? "raw" : "zstd");
    planned.skip_damage = kind == 3 && random(0, 1) == 0;
    // as make_plan does: the rest of a group is skipped, and where groups begin depends on the prefix
    if (planned.skip_damage) planned.buffers.group_bytes = planned.buffers.device_group_bytes = 1;
    const observed_run whole = run_from(planned, nullptr, seed, {});
    REQUIRE(whole.finished.result.inputs.size() == 1);
    continued_runs += check_continued(planned, random, whole.finished.result.inputs[0]);
  }
  CHECK(continued_runs > 10);
}

TEST_CASE("the parts of an input have the counts of the whole, and offsets of the input") {
  test::watchdog watchdog;
  for (unsigned seed = 1; seed <= 120 / test::fewer; ++seed) {
    watchdog.moved(seed);
    CAPTURE(seed);
    test::dice random(seed);
    const std::uint32_t chunk = random(600, 1500);
    const bool is_plain = random(0, 2) == 0;
    test::decoder_sample sample = test::random_archive(random, chunk, 60);
    if (is_plain) {
      sample = test::decoder_sample();
      sample.plain = test::noise(random(1, 100'000), seed);
    }
    const random_input input(is_plain ? sample.plain : sample.packed);
    plan planned = test::random_plan(random, {input.name}, chunk);
    planned.forced_format = io::format_named(is_plain ? "raw" : "zstd");
    test::byte_counts sum(256);
    input_prefix begin;  // of the next part
    if (!is_plain) begin.counted.compressed_bytes = 0;
    for (bool is_last = false; !is_last;) {
      const input_prefix end = random_end(random, sample, is_plain, begin);
      is_last = end.text_before == sample.plain.size();
      begin.counted.name = input.name;
      begin.counted.format = planned.forced_format->name;
      begin.counted.verified = begin.counted.unverified = gpu::tally(planned.partition.classes);
      listed_input part{.name = input.name, .regular = true};
      part.counted = std::make_shared<const input_prefix>(begin);
      if (!is_last) part.stored_end = end.stored_bytes();
      plan only = planned;
      only.looked_up = std::make_shared<looked_up_inputs>(looked_up_inputs{.inputs = {std::move(part)}});
      const outcome finished = run(only, test::shuffled(random()));
      REQUIRE(finished.result.inputs.size() == 1);
      const input_report& report = finished.result.inputs[0];
      CHECK(report.error.empty());
      CHECK(report.complete);
      CHECK(report.verified.bytes() == end.text_before - begin.text_before);
      if (!is_plain) CHECK(report.compressed_bytes == (is_last ? sample.packed.size() : end.stored_bytes()));
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += report.verified.counts[i];
      begin = end;
    }
    CHECK(sum == test::counts_of(sample.plain));
  }
}
