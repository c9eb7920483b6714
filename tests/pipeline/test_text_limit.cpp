// --max-output: an archive with more text than the maximum is counted up to it, to the byte, whatever is decoded at the
// same time.
#include "tests/pipeline/parallel_runs.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace gpuhist::pipeline {
namespace {

constexpr std::uint32_t chunk_bytes = 1000;

// The text of the frames that end at or before `most`.
std::uint64_t whole_frames(const test::decoder_sample& archive, std::uint64_t most) {
  std::uint64_t bytes = 0;
  for (const auto& end : archive.ends) {
    if (end.plain <= most) bytes = std::max<std::uint64_t>(bytes, end.plain);
  }
  return bytes;
}

void check_limited(const input_report& input, const test::decoder_sample& archive, std::uint64_t most) {
  const std::span<const std::byte> text = std::span(archive.plain);
  const std::uint64_t counted = std::min<std::uint64_t>(most, text.size());
  const std::uint64_t verified = whole_frames(archive, most);
  CHECK(input.complete == (text.size() <= most));
  CHECK((input.error.find("--max-output") != std::string::npos) == (text.size() > most));
  CHECK(input.verified.counts == test::counts_of(text.first(verified)));
  CHECK(input.unverified.counts == test::counts_of(text.subspan(verified, counted - verified)));
}

TEST_CASE("archives with too much text are counted up to the maximum, however many frames are decoded at once") {
  test::watchdog watchdog;
  std::uint32_t refused = 0;
  for (std::uint32_t seed = 1; seed <= 400 / test::fewer; ++seed) {
    watchdog.moved(seed);
    CAPTURE(seed);
    test::dice random(seed);
    const test::temporary_folder folder;
    std::vector<test::decoder_sample> samples;
    std::vector<std::string> names;
    for (std::uint32_t number = random(1, 3); number > 0; --number) {
      samples.push_back(test::random_archive(random, chunk_bytes, 60));
      names.push_back(folder.file(std::to_string(number), test::characters(samples.back().packed)));
    }
    plan planned = test::random_plan(random, names, chunk_bytes);
    planned.max_output = random(1, static_cast<std::uint32_t>(samples.front().plain.size() + 1));
    CAPTURE(*planned.max_output);
    const outcome finished = run(planned, test::shuffled(seed));
    REQUIRE(finished.result.inputs.size() == samples.size());
    for (std::size_t i = 0; i < samples.size(); ++i) {
      CAPTURE(i);
      check_limited(finished.result.inputs[i], samples[i], *planned.max_output);
      if (samples[i].plain.size() > *planned.max_output) ++refused;
    }
  }
  CHECK(refused > 100 / test::fewer);
}

TEST_CASE("an archive in a pipe is counted up to the maximum, too") {
  test::watchdog watchdog;
  for (std::uint32_t seed = 1; seed <= 60 / test::fewer; ++seed) {
    watchdog.moved(seed);
    CAPTURE(seed);
    test::dice random(seed);
    const test::decoder_sample archive = test::random_archive(random, chunk_bytes, 40);
    test::piped_archive pipe(archive.packed);
    plan planned = test::random_plan(random, {pipe.name()}, chunk_bytes);
    planned.max_output = random(1, static_cast<std::uint32_t>(archive.plain.size() + 1));
    const outcome finished = run(planned, test::shuffled(seed));
    check_limited(finished.result.inputs[0], archive, *planned.max_output);
  }
}

}  // namespace
}  // namespace gpuhist::pipeline
