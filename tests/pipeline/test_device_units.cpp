// Runs in which a device measures the units of zstd frames: groups that it decodes, rejects or fails on, in any order.
#include "parallel_runs.hpp"
#include "pipeline/counts/partitioning.hpp"
#include "unit_oracle.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

using namespace gpuhist;
using namespace gpuhist::command;
using namespace gpuhist::pipeline;

namespace {

// Lines of one length: of one byte, so that groups hold more selected units than they may before their turn, or longer.
std::string lines_of(test::dice& random, std::uint32_t size) {
  const std::uint32_t length = random.one_of({1U, 1U, 7U, 60U, 5000U});
  constexpr std::string_view alphabet = "ab0 ";
  std::string text(size, ' ');
  for (char& each : text) each = alphabet[random() % alphabet.size()];
  for (std::size_t at = length - 1; at < text.size(); at += length) text[at] = '\n';
  return text;
}

test::decoder_sample archive_of_lines(test::dice& random) {
  test::zstd_sample_builder builder("lines");
  for (std::uint32_t remaining = random(1, 12); remaining > 0; --remaining) {
    const std::string text = lines_of(random, random.one_of({0U, 1U, 300U, 9000U, 40'000U}));
    const std::span<const std::byte> bytes = std::as_bytes(std::span(text));
    builder.frame({bytes.begin(), bytes.end()}, {.level = 1, .content_size = random(0, 1) == 0});
    if (random(0, 5) == 0) builder.skippable(random(0, 50));
  }
  return builder.build();
}

// Rejects none, some or all groups; fails on some of them or none.
run_hooks device_of(std::uint32_t seed) {
  return test::shuffled({.seed = seed, .rejects_one_of = seed % 4, .fails_one_of = seed % 5 == 0 ? 3U : 0U});
}

plan plan_of_run(test::dice& random, std::vector<std::string> inputs) {
  plan planned = test::byte_plan(std::move(inputs), 1000, random(3, 6), random(1, 3));
  planned.buffers.decoders = random(1, planned.buffers.slots - 1);
  planned.buffers.open_inputs = random(1, 3);
  planned.buffers.group_bytes = random.one_of({1U, 50U, 3000U});
  test::decode_on_device(random, planned);
  planned.buffers.device_slot_bytes = random.one_of({64U, 1024U, 1U << 15U});
  return planned;
}

std::vector<test::unit_place> places_of(const std::vector<test::unit_record>& records, std::string_view input) {
  std::vector<test::unit_place> places;
  for (const test::unit_record& each : records) {
    if (*each.input == input) places.push_back(each.place);
  }
  return places;
}

}  // namespace

TEST_CASE("units that a device measures are those of the text, whatever groups it rejects or fails on") {
  test::watchdog watchdog;
  const gpu::partition classes = coarsest_partition(std::vector{config::find_scheme("classes")});
  std::uint64_t on_device = 0;
  for (std::uint32_t seed = 1; seed <= 160 / test::fewer; ++seed) {
    watchdog.moved(seed);
    CAPTURE(seed);
    test::dice random(seed);
    test::unit_plan measured =
        test::plan_of(test::text_lines, random.one_of({"bytes > 0", "digit > 0.3", "bytes > 70"}));
    if (random(0, 1) == 0) measured.distribution = test::formula_of("count(lower)");  // without, rows are omitted
    test::measured_run units(measured, nullptr, classes);
    test::measured_run expected(measured, nullptr, classes);
    test::temporary_folder folder;
    std::vector<std::string> inputs;
    for (std::uint32_t i = 0; i < 2; ++i) {
      const test::decoder_sample archive = archive_of_lines(random);
      inputs.push_back(folder.file(std::to_string(i) + ".zst", test::characters(archive.packed)));
      const std::string_view text(reinterpret_cast<const char*>(archive.plain.data()), archive.plain.size());
      expected.read(text, {text.size() + 1}, inputs.back(), i);
    }
    run_hooks hooks = device_of(seed);
    hooks.observer = &units.run();
    plan planned = plan_of_run(random, inputs);
    planned.stats = true;
    const outcome ended = run(planned, hooks);
    on_device += ended.stats.value().counting.decoded.groups;
    const auto found = units.run().result();
    const auto wanted = expected.run().result();
    REQUIRE(found.totals == wanted.totals);
    REQUIRE(found.values.bins() == wanted.values.bins());
    for (const std::string& input : inputs) {
      REQUIRE(places_of(units.selected, input) == places_of(expected.selected, input));
    }
  }
  CHECK(on_device > 0);
}
