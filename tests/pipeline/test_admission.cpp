// Decoding side by side cannot deadlock. A model of the rules is explored in every interleaving, and thousands of runs
// get the smallest possible buffers.
#include "tests/pipeline/admission_model.hpp"
#include "tests/pipeline/parallel_runs.hpp"
#include "tests/support/campaign.hpp"

using namespace gpuhist;
using namespace gpuhist::command;
using namespace gpuhist::pipeline;
using test::admission_model;
using test::model_input;
using test::model_rules;

namespace {

// Consecutive groups of one block and of several, without text and with text for several slots.
const model_input small_groups{
    {{.group = 0, .text = 1}}, {{.group = 1, .text = 0}, {.group = 2, .text = 3}}, {{.group = 3, .text = 2}}};
const model_input long_group{{{.group = 0, .text = 5}}, {{.group = 0, .text = 1}, {.group = 1, .text = 1}}};

// The frame with the large window in the middle of the first group is reached only after the second group has begun.
const model_input large_windows{{{.group = 0, .text = 1, .large_window = true}},
                                {{.group = 0, .text = 1}, {.group = 1, .text = 0, .large_window = true}},
                                {{.group = 1, .text = 1}},
                                {{.group = 1, .text = 3}}};

bool always_ends(const model_rules& rules, const std::vector<model_input>& inputs) {
  return admission_model(rules, inputs).always_ends();
}

}  // namespace

TEST_CASE("by the rules of admission some step is always possible until all work has finished, in every interleaving") {
  for (const int slots : {2, 3, 4}) {
    if (slots > 3 && test::fewer > 1) continue;  // takes minutes, on one thread
    if (slots > 2 && test::campaign_size() == test::campaign::sample) continue;
    for (const int extra : {0, 1}) {
      for (const int plain : {0, 3}) {
        CAPTURE(slots);
        CAPTURE(extra);
        CAPTURE(plain);
        const model_rules rules{
            .slots = slots, .decoders = std::min(slots - 1, 2), .extra_blocks = extra, .plain_text = plain};
        CHECK(always_ends(rules, {small_groups}));
        CHECK(always_ends(rules, {large_windows}));
        CHECK(always_ends(rules, {long_group, long_group}));
        CHECK(always_ends(rules, {{}, small_groups, {{{.group = 0, .text = 1}}}}));
      }
      CHECK(always_ends({.slots = slots, .decoders = std::min(slots - 1, 2), .extra_blocks = extra},
                        {large_windows, long_group}));
    }
  }
}

TEST_CASE("the model finds a deadlock if a rule is broken") {
  const std::vector<model_input> three(3, {{{.group = 0, .text = 1}}});
  CHECK(always_ends({.slots = 3, .decoders = 3, .open_inputs = 3}, three));
  CHECK_FALSE(always_ends({.slots = 2, .decoders = 3, .open_inputs = 3}, three));
  CHECK_FALSE(always_ends({.slots = 3, .decoders = 3, .open_inputs = 3, .plain_text = 3}, three));
  const model_rules any_window{.slots = 3, .decoders = 2, .window_only_with_all_bytes = false};
  CHECK_FALSE(always_ends(any_window, {large_windows}));
}

TEST_CASE("runs end and count all text, whatever the frames and however few slots, decoders, blocks and threads") {
  test::watchdog watchdog;
  for (std::uint32_t seed = 1; seed <= 800 / test::fewer; ++seed) {
    watchdog.moved(seed);
    CAPTURE(seed);
    test::dice random(seed);
    const test::temporary_folder folder;
    const std::uint32_t chunk = random.one_of({1U, 5U, 100U, 3000U});
    std::vector<std::string> names;
    std::vector<test::byte_vector> texts;
    std::optional<test::piped_archive> piped;
    for (std::uint32_t remaining = random(1, 4); remaining > 0; --remaining) {
      test::decoder_sample archive = test::random_archive(random, chunk, 12);
      if (!piped && random(0, 3) == 0) {
        piped.emplace(std::move(archive.packed));
        names.push_back(piped->name());
      } else {
        names.push_back(folder.file(std::to_string(remaining), test::characters(archive.packed)));
      }
      texts.push_back(std::move(archive.plain));
      if (random(0, 3) == 0) {
        texts.push_back(test::sample_text(random(0, 5 * chunk), seed));
        names.push_back(folder.file("text" + std::to_string(remaining), test::characters(texts.back())));
      }
    }
    plan planned = test::random_plan(random, names, chunk);
    planned.buffers.window_limit =
        random.one_of<std::uint64_t>({64U << 10U, 1U << 30U});  // of the first, 48 KiB are shared
    const outcome finished = run(planned, random(0, 3) == 0 ? run_hooks{} : test::shuffled(seed));
    CHECK(finished.result.complete);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      CHECK(finished.result.inputs[i].error == "");
      CHECK(finished.result.inputs[i].verified.counts == test::counts_of(texts[i]));
    }
  }
}

// The younger group is granted the window while the older group still decodes a frame that needs none. The older group
// holds all blocks that the younger one waits for.
TEST_CASE("a group that holds the memory for windows does not wait for blocks of a group that waits for that memory") {
  test::watchdog watchdog;
  const std::size_t many = std::size_t{64} << 20U;
  const auto easy = test::zstd_frame_of(test::byte_vector(many), {.level = 1, .window_log = 17});
  const test::zstd_settings wide{.level = 1, .content_size = false, .window_log = 22};
  const auto second = test::zstd_frame_of(test::noise(2000), wide);
  const auto third = test::zstd_frame_of(test::noise(60000), wide);
  test::byte_vector packed = easy;
  packed.insert(packed.end(), second.begin(), second.end());
  packed.insert(packed.end(), third.begin(), third.end());
  const test::temporary_folder folder;
  plan planned = test::byte_plan({folder.file("a.zst", test::characters(packed))}, 64U << 10U, 3, 2);
  planned.buffers.block_bytes = static_cast<std::uint32_t>(easy.size() + 1000);
  REQUIRE(second.size() < easy.size() + 1000);  // the second block reaches into the third frame
  planned.buffers.blocks = 2;
  planned.buffers.extra_blocks = 0;
  planned.buffers.group_bytes = static_cast<std::uint32_t>(easy.size() + 1);
  planned.buffers.window_limit = std::uint64_t{8} << 20U;  // 1 MiB per decoder, and one window of 4 MiB
  watchdog.moved(0);
  const outcome finished = run(planned, {});
  CHECK(finished.result.complete);
  CHECK(finished.result.verified.bytes() == many + 62000);
}
