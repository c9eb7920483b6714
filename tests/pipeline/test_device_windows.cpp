// Runs with windows in which a device decodes zstd frames: groups that it decodes, rejects or fails on, in any order.
#include "parallel_runs.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <regex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

using namespace gpuhist;
using namespace gpuhist::command;
using namespace gpuhist::pipeline;

namespace {

std::string lines_of(test::dice& random, std::uint32_t size) {
  const std::uint32_t length = random.one_of({1U, 2U, 7U, 60U, 5000U});
  std::string text(size, 'a');
  for (char& each : text) each = static_cast<char>('a' + random() % 4);
  for (std::size_t at = length - 1; at < text.size(); at += length) text[at] = '\n';
  return text;
}

test::decoder_sample archive_of_lines(test::dice& random, bool with_sizes) {
  test::zstd_sample_builder builder("lines");
  for (std::uint32_t remaining = random(1, 12); remaining > 0; --remaining) {
    const std::string text = lines_of(random, random.one_of({0U, 1U, 300U, 9000U, 40'000U}));
    const std::span<const std::byte> bytes = std::as_bytes(std::span(text));
    builder.frame({bytes.begin(), bytes.end()},
                  {.level = 1, .checksum = random(0, 3) != 0, .content_size = with_sizes || random(0, 1) == 0});
    if (random(0, 5) == 0) builder.skippable(random(0, 50));
  }
  return builder.build();
}

window_shape random_shape(test::dice& random) {
  const std::uint32_t panes = random.one_of({1U, 1U, 3U});
  return {.unit = random(0, 1) == 0 ? pane_unit::bytes : pane_unit::lines,
          .pane = random.one_of({60U, 100U, 1000U, 30'000U, 1'000'000U}),
          .window_panes = panes,
          .step_panes = random(1, panes),
          .per_input = random(0, 1) == 0};
}

// Rejects none, some or all groups; fails on some of them or none.
run_hooks device_of(std::uint32_t seed) {
  return test::shuffled({.seed = seed, .rejects_one_of = seed % 4, .fails_one_of = seed % 7 == 0 ? 5U : 0U});
}

// How far a damaged frame was read depends on the blocks of compressed bytes.
std::string without_place(const std::string& error) {
  static const std::regex place(" at compressed offset [0-9]+");
  return std::regex_replace(error, place, "");
}

// What a window says, without times.
std::string description(const closed_window& window) {
  const window_head& head = window.head;
  std::string text = std::to_string(head.index) + ' ' + *head.source + ' ' + std::to_string(head.first_offset) + ' ' +
                     std::to_string(head.end_offset) + ' ' + std::string(name_of(head.end_reason)) + ' ' +
                     without_place(head.error);
  if (head.last_source) text += " to " + *head.last_source;
  if (window.lines) text += " lines " + std::to_string(window.lines->first) + '-' + std::to_string(window.lines->last);
  for (const std::uint64_t count : window.counts.counts) text += ' ' + std::to_string(count);
  return text;
}

struct windowed_run {
  std::vector<std::string> windows{};
  std::set<std::uint64_t> verified{};  // indices of windows, in the end
  run_counts counts{};
  std::uint64_t groups_on_device = 0;
};

windowed_run run_with(plan planned, run_hooks hooks) {
  windowed_run made;
  hooks.window = [&](const closed_window& window) {
    made.windows.push_back(description(window));
    if (window.head.verified) made.verified.insert(window.head.index);
    return false;
  };
  hooks.verdict = [&](const window_verdict& verdict) {
    for (std::uint64_t i = verdict.first; verdict.verified && i <= verdict.last; ++i) made.verified.insert(i);
  };
  planned.stats = true;
  outcome ended = run(planned, hooks);
  made.counts = std::move(ended.result);
  made.groups_on_device = ended.stats.value().counting.decoded.groups;
  return made;
}

// The first window that differs; empty: none does.
std::string difference(const std::vector<std::string>& found, const std::vector<std::string>& expected) {
  for (std::size_t i = 0; i < std::max(found.size(), expected.size()); ++i) {
    const std::string one = i < found.size() ? found[i] : "none";
    const std::string other = i < expected.size() ? expected[i] : "none";
    if (one != other) return "found " + one + "\nexpected " + other;
  }
  return {};
}

// The windows of a text, recounted.
std::vector<std::string> recounted(std::string_view text, const window_shape& shape, const std::string& source) {
  std::vector<std::size_t> ends;  // of panes
  std::uint64_t units = 0;
  bool is_full = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    units += shape.unit == pane_unit::bytes || text[at] == '\n' ? 1U : 0U;
    is_full = units == shape.pane;
    if (is_full) units = 0;
    if (is_full || at + 1 == text.size()) ends.push_back(at + 1);
  }
  std::vector<std::string> windows;
  for (std::size_t pane = 0; pane < ends.size(); pane += shape.step_panes) {
    const std::size_t end_pane = pane + shape.window_panes;
    const std::size_t begin = pane == 0 ? 0 : ends[pane - 1];
    const std::size_t end = ends[std::min(end_pane, ends.size()) - 1];
    const bool has_full_size = end_pane < ends.size() || (end_pane == ends.size() && is_full);
    const std::string_view before = text.substr(0, begin);
    const std::string_view whole = text.substr(begin, end - begin);
    const auto first = static_cast<std::uint64_t>(std::ranges::count(before, '\n')) + 1;
    const auto newlines = static_cast<std::uint64_t>(std::ranges::count(whole, '\n'));
    const pipeline::line_range lines{.first = first, .last = first + newlines - (whole.back() == '\n' ? 1 : 0)};
    const closed_window window{.head = {.index = windows.size(),
                                        .source = std::make_shared<const std::string>(source),
                                        .first_offset = begin,
                                        .end_offset = end,
                                        .end_reason = has_full_size ? window_end::full : window_end::input},
                               .counts = {},
                               .lines = lines};
    std::string described = description(window);
    for (const std::uint64_t count : test::counts_of(std::as_bytes(std::span(whole)))) {
      described += ' ' + std::to_string(count);
    }
    windows.push_back(described);
  }
  return windows;
}

plan plan_of_run(test::dice& random, std::vector<std::string> inputs, const window_shape& shape) {
  plan planned = test::byte_plan(std::move(inputs), 1000, random(3, 6), random(1, 3));
  planned.windows = shape;
  planned.in_order_for = "--window";
  planned.buffers.decoders = 1;
  planned.buffers.open_inputs = random(1, 2);
  planned.buffers.group_bytes = random.one_of({1U, 50U, 3000U});
  planned.skip_damage = random(0, 2) == 0;
  if (planned.skip_damage) planned.buffers.group_bytes = 1;
  return planned;
}

plan on_device(test::dice& random, plan planned) {
  test::decode_on_device(random, planned);
  planned.buffers.device_slot_bytes = random.one_of({64U, 1024U, 1U << 15U});
  if (planned.skip_damage) planned.buffers.device_group_bytes = 1;
  return planned;
}

}  // namespace

TEST_CASE("windows of text that a device decodes are those of the text, whatever groups it rejects or fails on") {
  test::watchdog watchdog;
  std::uint64_t groups_on_device = 0;
  for (std::uint32_t seed = 1; seed <= 300 / test::fewer; ++seed) {
    watchdog.moved(seed);
    CAPTURE(seed);
    test::dice random(seed);
    const test::decoder_sample archive = archive_of_lines(random, random(0, 1) == 0);
    const test::temporary_folder folder;
    const std::string name = folder.file("a.zst", test::characters(archive.packed));
    const window_shape shape = random_shape(random);
    const plan planned = on_device(random, plan_of_run(random, {name}, shape));
    const windowed_run found = run_with(planned, device_of(seed));
    groups_on_device += found.groups_on_device;
    const std::string text(test::characters(archive.plain));
    const std::vector<std::string> expected = recounted(text, shape, name);
    REQUIRE(difference(found.windows, expected) == "");
    REQUIRE(found.verified.size() == expected.size());
    REQUIRE(found.counts.inputs[0].complete);
    REQUIRE(found.counts.inputs[0].verified.counts == test::counts_of(archive.plain));
  }
  CHECK(groups_on_device > 0);
}

TEST_CASE("windows of several archives, some of them damaged, are the same with a device as without") {
  test::watchdog watchdog;
  std::uint64_t groups_on_device = 0;
  for (std::uint32_t seed = 1; seed <= 300 / test::fewer; ++seed) {
    watchdog.moved(seed);
    CAPTURE(seed);
    test::dice random(seed);
    const test::temporary_folder folder;
    std::vector<std::string> inputs;
    for (std::uint32_t i = random(1, 3); i > 0; --i) {
      test::byte_vector packed = archive_of_lines(random, random(0, 1) == 0).packed;
      const std::uint32_t damage = random(0, 3);
      if (damage == 1 && !packed.empty()) packed[random() % packed.size()] ^= std::byte{16};
      if (damage == 2) packed.resize(random() % (packed.size() + 1));
      inputs.push_back(folder.file(std::to_string(i) + ".zst", test::characters(packed)));
    }
    const plan by_host = plan_of_run(random, inputs, random_shape(random));
    const windowed_run expected = run_with(by_host, {});
    const windowed_run found = run_with(on_device(random, by_host), device_of(seed));
    groups_on_device += found.groups_on_device;
    REQUIRE(difference(found.windows, expected.windows) == "");
    REQUIRE(found.verified == expected.verified);
    REQUIRE(found.counts.inputs.size() == expected.counts.inputs.size());
    for (std::size_t i = 0; i < found.counts.inputs.size(); ++i) {
      const input_report with_device = found.counts.inputs[i];
      const input_report without = expected.counts.inputs[i];
      CHECK(with_device.verified.counts == without.verified.counts);
      CHECK(with_device.unverified.counts == without.unverified.counts);
      CHECK(with_device.complete == without.complete);
      CHECK(without_place(with_device.error) == without_place(without.error));
    }
  }
  CHECK(groups_on_device > 0);
}
