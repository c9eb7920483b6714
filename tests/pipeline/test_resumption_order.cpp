// compressed_inputs: archives are decoded to their end in whatever order the coroutines of their groups resume.
#include "pipeline/flow/decoding/compressed_inputs.hpp"

#include "async/event_loop.hpp"
#include "pipeline/flow/collector.hpp"
#include "pipeline/flow/text_divider.hpp"
#include "tests/pipeline/parallel_runs.hpp"
#include "tests/support/shuffling_executor.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace gpuhist::pipeline {
namespace {

constexpr std::uint32_t chunk_bytes = 1000;
constexpr std::uint64_t least_pane = 500;  // so many panes need not be taken while others are merged
constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

// With few decoders, few blocks, and few slots of a device: most groups do not fit, and wait for a decoder.
struct narrow_buffers {
  explicit narrow_buffers(test::dice& random)
      : decoders(random(1, 2)),
        block_bytes(random.one_of({7U, 64U, 300U, 1000U})),
        slot_bytes(random.one_of({16U, 64U, 1024U})),
        device_slots(random.one_of({1U, 2U, 5U, 64U})),
        host_takes_some(random(0, 1) == 0),
        open_on_device(random(0, 4)),
        staged_inputs(random(0, 4)),
        window_bytes(random.one_of<std::uint64_t>({64U << 10U, 1U << 20U})),
        max_text(random(0, 1) == 0 ? unlimited : random(1, 50 * chunk_bytes)),
        made_after(random.one_of({0U, 1U, 20U, 1U << 30U})) {
    if (random(0, 2) != 0) return;
    has_windows = true;
    open_inputs = 1;
    decoders = 2;  // one in reserve
    host_takes_some = false;
    open_on_device = 0;
    max_text = unlimited;
  }

  std::uint32_t decoders;
  std::uint32_t block_bytes;
  std::uint32_t slot_bytes;
  std::uint32_t device_slots;
  bool host_takes_some;  // groups for which no slot is free
  std::uint32_t open_on_device;
  std::uint32_t staged_inputs;
  std::uint64_t window_bytes;
  std::uint64_t max_text;    // of an input
  std::uint32_t made_after;  // shuffling_decoder::settings
  bool has_windows = false;
  std::uint32_t open_inputs = 2;
  std::size_t begins_with = 1;  // shuffling_decoder::settings
};

// All text is in one of them.
void check_windows(rolling_windows& windows, const std::vector<test::decoder_sample>& archives) {
  windows.end();
  std::vector<std::uint64_t> found(256);
  while (const auto next = windows.next()) {
    const auto* const window = std::get_if<closed_window>(&*next);
    if (window == nullptr) continue;
    CHECK(window->head.error.empty());
    std::ranges::transform(found, window->counts.counts, found.begin(), std::plus<>());
  }
  CHECK_FALSE(windows.is_waiting());
  std::vector<std::uint64_t> expected(256);
  for (const auto& each : archives)
    std::ranges::transform(expected, test::counts_of(each.plain), expected.begin(), std::plus<>());
  CHECK(found == expected);
}

run_counts decode_shuffled(const std::vector<test::decoder_sample>& archives, const narrow_buffers& narrow,
                           unsigned seed) {
  const test::temporary_folder folder;
  std::vector<std::string> names;
  for (const auto& each : archives) {
    names.push_back(folder.file(std::to_string(names.size()), test::characters(each.packed)));
  }
  ring slots({.slots = narrow.decoders + 1, .chunk_bytes = chunk_bytes, .max_extents = 8, .row_columns = 256});
  rolling_counts counts(gpu::partition::identity(), gpu::partition::identity(), names);
  if (narrow.has_windows) {
    counts.add_windows({.unit = seed % 2 == 0 ? pane_unit::bytes : pane_unit::lines, .pane = least_pane + seed % 4000},
                       [] {});
  }
  const auto divider = narrow.has_windows ? std::make_unique<window_divider>(counts) : nullptr;
  std::stop_source stop;
  test::shuffling_device engine(gpu::partition::identity(),
                                {.seed = seed,
                                 .rejects_one_of = seed % 3 == 0 ? 4U : 0U,
                                 .made_after = narrow.made_after,
                                 .begins_with = narrow.begins_with},
                                seed);
  collector collected(slots, engine, counts, stop, [] {});
  feed_notes notes;
  async::first_failure failures(stop);
  async::loop_thread streams;
  {
    test::shuffling_executor pool(seed);
    decode_contexts contexts(
        {.number = narrow.decoders, .reserved = narrow.has_windows ? 1U : 0U, .window_bytes = narrow.window_bytes},
        nullptr, {}, notes.decompress, slots, collected, divider.get());
    device_frames device(engine,
                         {.slots = {.slot_bytes = narrow.slot_bytes, .max_slots = narrow.device_slots, .more_slots = 1},
                          .host_shares = narrow.host_takes_some,
                          .takes_all = true,
                          .in_order = narrow.has_windows,
                          .group_bytes = 1});
    compressed_inputs inputs({.block_bytes = narrow.block_bytes,
                              .own_blocks = 2,
                              .open_inputs = narrow.open_inputs,
                              .open_on_device = narrow.open_on_device,
                              .staged_inputs = narrow.staged_inputs,
                              .threads = 1,
                              .group_bytes = 1,
                              .max_text = narrow.max_text,
                              .windows = divider.get(),
                              .device = &device},
                             {.pool = pool, .streams = streams.loop()}, contexts, collected, counts, notes, failures,
                             stop.get_token());
    const auto run = [&]() -> async::task<> {
      for (std::size_t i = 0; i < names.size(); ++i) {
        io::descriptor opened(::open(names[i].c_str(), O_RDONLY | O_CLOEXEC));
        auto source = std::make_shared<io::source>(io::file_source(std::move(opened), 0, archives[i].packed.size()));
        co_await inputs.add(static_cast<input_id>(i), std::move(source), {}, *io::format_named("zstd"));
        if (narrow.has_windows) co_await inputs.drain();
      }
      co_await inputs.drain();
      std::vector<cut_mark> marks;
      contexts.flush(marks);
      co_await collected.settled();
    };
    async::run_blocking(pool, run());
  }
  CHECK_FALSE(failures.get());
  if (narrow.has_windows) check_windows(*counts.windows(), archives);
  return counts.counts();
}

TEST_CASE("archives are decoded to their end in whatever order the coroutines of their groups resume") {
  test::watchdog watchdog;
  for (std::uint32_t seed = 1; seed <= 300 / test::fewer; ++seed) {
    watchdog.moved(seed);
    CAPTURE(seed);
    test::dice random(seed);
    std::vector<test::decoder_sample> archives;
    for (std::uint32_t number = random(1, 2); number > 0; --number) {
      archives.push_back(test::random_archive(random, chunk_bytes, 40));
    }
    const narrow_buffers narrow(random);
    const run_counts counted = decode_shuffled(archives, narrow, seed);
    REQUIRE(counted.inputs.size() == archives.size());
    for (std::size_t i = 0; i < archives.size(); ++i) {
      const auto text = std::span<const std::byte>(archives[i].plain);
      const auto counted_bytes = std::min<std::uint64_t>(narrow.max_text, text.size());
      gpu::tally all = counted.inputs[i].verified;
      all += counted.inputs[i].unverified;
      CHECK(all.counts == test::counts_of(text.first(counted_bytes)));
      CHECK(counted.inputs[i].complete == (counted_bytes == text.size()));
    }
  }
}

TEST_CASE("while inputs wait for the device with all of their bytes, others are opened") {
  test::watchdog watchdog;
  test::dice random(3);
  narrow_buffers narrow(random);
  narrow.block_bytes = narrow.slot_bytes = 1024;
  narrow.device_slots = 64;
  narrow.host_takes_some = narrow.has_windows = false;
  narrow.open_inputs = 1;
  narrow.open_on_device = narrow.made_after = 0;
  narrow.max_text = unlimited;
  narrow.staged_inputs = 7;
  std::vector<test::decoder_sample> archives;
  while (archives.size() < narrow.staged_inputs + 1) {
    test::zstd_sample_builder builder("a frame");
    builder.frame(test::noise(500, static_cast<std::uint32_t>(archives.size())));
    archives.push_back(builder.build());
  }
  narrow.begins_with = archives.size();
  const run_counts counted = decode_shuffled(archives, narrow, 1);
  for (const auto& each : counted.inputs) CHECK(each.complete);
}

}  // namespace
}  // namespace gpuhist::pipeline
