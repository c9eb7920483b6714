// Page-locked memory for compressed bytes that devices decode, and groups of frames in it.
#include "pipeline/flow/decoding/device_frames.hpp"

#include "async/worker_pool.hpp"
#include "gpu/engines.hpp"
#include "tests/io/zstd_samples.hpp"
#include "tests/pipeline/parallel_runs.hpp"
#include "tests/support/run_coroutine.hpp"
#include "tests/support/staging_engine.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace gpuhist;
using namespace gpuhist::pipeline;

namespace {

constexpr std::size_t slot_bytes = 64;

using test::staging_engine;

class plain_engine final : public test::shuffling_engine {
 public:
  plain_engine() : shuffling_engine(gpu::partition::identity()) {}
};

class refusing_engine final : public test::shuffling_engine {
 public:
  refusing_engine() : shuffling_engine(gpu::partition::identity()) {}
  [[nodiscard]] gpu::frame_decoder* decoder() override { throw gpu::memory_shortage("the device lacks memory"); }
};

device_frames::settings with_slots(std::uint32_t max_slots, std::uint32_t more = 4) {
  return {.slots = {.slot_bytes = slot_bytes, .max_slots = max_slots, .more_slots = more}, .group_bytes = 1};
}

device_frames::settings shared_with_host(std::uint32_t max_slots) {
  device_frames::settings all = with_slots(max_slots);
  all.host_shares = true;
  return all;
}

// 32 slots for each slot that a group may have.
constexpr std::uint32_t slots_for(std::uint32_t of_group) { return of_group * device_frames::max_share_of_group; }

test::byte_vector joined(const std::vector<std::span<const std::byte>>& pieces) {
  test::byte_vector all;
  for (const auto& each : pieces) all.insert(all.end(), each.begin(), each.end());
  return all;
}

const staged_group::copy_function copy_now = [](std::byte* to, auto from) { std::ranges::copy(from, to); };

struct staging {
  async::worker_pool pool{2};
  staging_engine engine;
  device_frames frames;

  explicit staging(std::uint32_t max_slots, const test::shuffling_decoder::settings& with = {})
      : staging(with_slots(max_slots), with) {}
  explicit staging(const device_frames::settings& all, const test::shuffling_decoder::settings& with = {})
      : engine(with), frames(engine, all) {}

  std::optional<staged_group> try_group(bool waits) { return test::run(pool, frames.begin_group({}, waits)); }

  staged_group group(bool waits = false) {
    auto begun = try_group(waits);
    REQUIRE(begun);
    return std::move(*begun);
  }

  std::size_t append(staged_group& to, std::span<const std::byte> bytes) { return append(to, {.bytes = bytes}); }
  std::size_t append(staged_group& to, const block& next) { return test::run(pool, to.append(next, copy_now)); }

  // A group with all of these bytes.
  staged_group group_of(const test::byte_vector& bytes) {
    staged_group made = group();
    REQUIRE(append(made, bytes) == bytes.size());
    return made;
  }

  std::optional<decoded_group> decode(staged_group group) { return test::run(pool, frames.decode(group)); }

  // So many slots that are free, each in a group.
  std::vector<staged_group> take(std::uint32_t slots) {
    std::vector<staged_group> all;
    all.reserve(slots);
    while (all.size() < slots) {
      all.push_back(group());
      all.back().complete();
    }
    return all;
  }

  // All slots that are free or can be allocated, each in a group, if the host shares the work: no group waits then.
  std::vector<staged_group> take_all() {
    std::vector<staged_group> all;
    while (auto more = try_group(false)) {
      more->complete();  // few groups may be incomplete
      all.push_back(std::move(*more));
    }
    return all;
  }
};

}  // namespace

TEST_CASE(
    "bytes that are appended in parts of any size lie in registered slots, in order, and all but the last are full") {
  const test::byte_vector bytes = test::noise(5 * slot_bytes + 7);
  for (const std::size_t part : {std::size_t{1}, std::size_t{7}, slot_bytes, slot_bytes + 1, bytes.size()}) {
    CAPTURE(part);
    staging fixture(slots_for(6));
    staged_group group = fixture.group();
    for (std::size_t at = 0; at < bytes.size(); at += part) {
      const auto next = std::span(bytes).subspan(at, std::min(part, bytes.size() - at));
      REQUIRE(fixture.append(group, next) == next.size());
    }
    CHECK(group.size() == bytes.size());
    const auto pieces = group.pieces();
    CHECK(joined(pieces) == bytes);
    REQUIRE(pieces.size() == 6);
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      CHECK(pieces[i].size() == (i < 5 ? slot_bytes : 7));
      CHECK(fixture.engine.is_registered(pieces[i]));
    }
  }
}

TEST_CASE("a block that fills half a slot or more is exchanged for the memory of a slot if it is page-locked") {
  const test::byte_vector bytes = test::noise(slot_bytes);
  for (const std::size_t size : {slot_bytes, slot_bytes / 2, slot_bytes / 2 - 1}) {
    for (const bool is_locked : {true, false}) {
      CAPTURE(size);
      CAPTURE(is_locked);
      staging fixture(slots_for(6));
      test::byte_vector memory = bytes;
      block_memory lent{.bytes = memory.data(), .is_locked = is_locked};
      staged_group group = fixture.group();
      REQUIRE(fixture.append(group, std::span(bytes).first(3)) == 3);
      REQUIRE(fixture.append(group, {.bytes = std::span(memory).first(size), .lent = &lent}) == size);
      REQUIRE(fixture.append(group, std::span(bytes).first(5)) == 5);
      const auto pieces = group.pieces();
      test::byte_vector all(bytes.begin(), bytes.begin() + 3);
      all.insert(all.end(), memory.begin(), memory.begin() + static_cast<std::ptrdiff_t>(size));
      all.insert(all.end(), bytes.begin(), bytes.begin() + 5);
      CHECK(joined(pieces) == all);
      const bool is_exchanged = is_locked && size >= slot_bytes / 2;
      CHECK(pieces.size() == 1U + (is_exchanged ? 1 : 0) + (size == slot_bytes ? 1 : 0));
      CHECK((std::ranges::find(pieces, memory.data(), [](const auto& each) { return each.data(); }) != pieces.end()) ==
            is_exchanged);
      CHECK((lent.bytes == memory.data()) != is_exchanged);
      if (is_exchanged) CHECK(fixture.engine.is_registered({lent.bytes, slot_bytes}));
    }
  }
}

TEST_CASE("a block that fits behind the bytes in the last slot that a group may have is copied there") {
  const test::byte_vector bytes = test::noise(slot_bytes);
  staging fixture(slots_for(1));
  std::vector<staged_group> others;
  for (unsigned i = 0; i < 2; ++i) {  // have the permits of long groups
    others.push_back(fixture.group());
    REQUIRE(fixture.append(others.back(), test::noise(2 * slot_bytes)) == 2 * slot_bytes);
  }
  staged_group group = fixture.group();
  REQUIRE(fixture.append(group, std::span(bytes).first(slot_bytes / 4)) == slot_bytes / 4);
  test::byte_vector memory = bytes;
  block_memory lent{.bytes = memory.data(), .is_locked = true};
  CHECK(fixture.append(group, {.bytes = std::span(memory).first(slot_bytes / 2), .lent = &lent}) == slot_bytes / 2);
  CHECK(lent.bytes == memory.data());
  CHECK(group.pieces().size() == 1);
}

TEST_CASE("the memory of blocks is page-locked for groups if blocks have the size of slots") {
  for (const std::size_t block_bytes : {slot_bytes, 2 * slot_bytes}) {
    staging fixture(slots_for(2));
    REQUIRE(fixture.frames.start());
    block_pool blocks(block_bytes, 3);
    const block_memory lent = blocks.take_memory();
    fixture.frames.lock_pages_of(blocks);
    CHECK(fixture.engine.is_registered({lent.bytes, block_bytes}) == (block_bytes == slot_bytes));
    blocks.release_memory(lent);
    CHECK(blocks.take_memory().is_locked == (block_bytes == slot_bytes));
  }
}

TEST_CASE("frames in slots that are copied and exchanged, and partly full, are decoded; or their bytes are taken") {
  test::dice random(8);
  for (int round = 0; round < 60; ++round) {
    CAPTURE(round);
    test::zstd_sample_builder builder("frames");
    for (std::uint32_t left = random(1, 9); left > 0; --left) builder.frame(test::noise(random(0, 300), left));
    const test::decoder_sample sample = builder.build();
    std::vector<std::unique_ptr<test::byte_vector>> memory;
    std::vector<std::unique_ptr<block_memory>> lent;
    staging fixture(slots_for(100));
    staged_group group = fixture.group();
    for (std::size_t at = 0; at < sample.packed.size();) {
      const std::size_t next = std::min<std::size_t>(sample.packed.size() - at, random(1, slot_bytes));
      memory.push_back(std::make_unique<test::byte_vector>(sample.packed.begin() + static_cast<std::ptrdiff_t>(at),
                                                           sample.packed.end()));
      memory.back()->resize(slot_bytes);
      lent.push_back(std::make_unique<block_memory>(block_memory{memory.back()->data(), random(0, 1) == 0}));
      const bool is_whole = random(0, 3) != 0;
      const block given{.bytes = std::span(*memory.back()).first(next), .lent = is_whole ? lent.back().get() : nullptr};
      REQUIRE(fixture.append(group, given) == next);
      at += next;
    }
    CHECK(joined(group.pieces()) == sample.packed);
    if (round % 2 == 0) {
      const auto decoded = test::run(fixture.pool, fixture.frames.decode(group));
      REQUIRE(decoded);
      CHECK(decoded->text_bytes == sample.plain.size());
      continue;
    }
    test::byte_vector taken;
    for (const block& each : group.take_blocks()) taken.insert(taken.end(), each.bytes.begin(), each.bytes.end());
    CHECK(taken == sample.packed);
  }
}

TEST_CASE("two groups with long frames are collected at the same time, each with half of the larger share") {
  staging fixture(slots_for(8));
  const std::size_t half = fixture.frames.max_slots_of_long_group() / 2;
  REQUIRE(half == 32);
  const test::byte_vector bytes = test::noise(2 * half * slot_bytes);
  std::optional<staged_group> first = fixture.group();
  staged_group second = fixture.group();
  CHECK(fixture.append(*first, std::span(bytes).first(half * slot_bytes)) == half * slot_bytes);
  CHECK(fixture.append(second, bytes) == half * slot_bytes);
  CHECK(fixture.append(*first, bytes) == 0);
  first->complete();
  CHECK(fixture.append(second, bytes) == half * slot_bytes);
}

TEST_CASE("a group has at most its share of the slots, and one of those that are collected has more") {
  staging fixture(slots_for(2) + 5);
  const std::size_t share = fixture.frames.max_slots_of_group();
  const std::size_t long_share = fixture.frames.max_slots_of_long_group();
  CHECK(share == 2);
  CHECK(long_share == 17);
  const test::byte_vector bytes = test::noise((long_share + 1) * slot_bytes);
  std::optional<staged_group> first = fixture.group();
  CHECK(fixture.append(*first, std::span(bytes).first(slot_bytes + 1)) == slot_bytes + 1);
  CHECK(fixture.append(*first, std::span(bytes).subspan(slot_bytes + 1)) == (long_share - 1) * slot_bytes - 1);
  CHECK(fixture.append(*first, bytes) == 0);
  CHECK(joined(first->pieces()) == test::byte_vector(bytes.begin(), bytes.end() - slot_bytes));
  staged_group second = fixture.group();
  CHECK(fixture.append(second, bytes) == share * slot_bytes);
  first->complete();
  CHECK(fixture.append(second, bytes) == (long_share - share) * slot_bytes);
  CHECK(staging(5).frames.max_slots_of_group() == 1);
}

TEST_CASE("a group takes further slots only if some are free, and does not wait") {
  staging fixture(slots_for(2));
  staged_group group = fixture.group();
  auto others = fixture.take(slots_for(2) - 1);
  const test::byte_vector bytes = test::noise(2 * slot_bytes);
  CHECK(fixture.append(group, bytes) == slot_bytes);
  others.pop_back();
  CHECK(fixture.append(group, std::span(bytes).subspan(slot_bytes)) == slot_bytes);
  CHECK(joined(group.pieces()) == bytes);
}

TEST_CASE("a group that waits gets a slot as soon as one is returned") {
  staging fixture(slots_for(2));
  staged_group group = fixture.group(true);
  auto others = fixture.take(slots_for(2) - 1);
  const test::byte_vector bytes = test::noise(2 * slot_bytes);
  std::atomic<bool> is_full = false;
  std::jthread waiting([&] {
    CHECK(fixture.append(group, bytes) == bytes.size());
    is_full = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK_FALSE(is_full);
  others.pop_back();
  waiting.join();
  CHECK(is_full);
  CHECK(joined(group.pieces()) == bytes);
}

TEST_CASE("few groups that wait are incomplete at the same time, and the next one begins when one is complete") {
  staging fixture(slots_for(2));
  std::vector<staged_group> incomplete;
  while (incomplete.size() < device_frames::max_incomplete) incomplete.push_back(fixture.group(true));
  CHECK_FALSE(fixture.try_group(false));
  std::atomic<bool> is_begun = false;
  std::jthread waiting([&] {
    const staged_group next = fixture.group(true);
    is_begun = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK_FALSE(is_begun);
  incomplete.front().complete();
  waiting.join();
  CHECK(is_begun);
}

TEST_CASE("more groups are incomplete at the same time if their inputs are short") {
  staging fixture(slots_for(2 * device_frames::units_of_group));
  const std::uint64_t bytes = slot_bytes / 2;
  std::vector<staged_group> incomplete;
  while (incomplete.size() < 2 * device_frames::max_incomplete) {
    auto next = test::run(fixture.pool, fixture.frames.begin_group({}, false, false, bytes));
    REQUIRE(next);
    incomplete.push_back(std::move(*next));
  }
  CHECK(fixture.append(incomplete.front(), test::noise(bytes)) == bytes);
}

TEST_CASE("where the host shares the work a group that must not wait has the slots that are free") {
  staging fixture(shared_with_host(slots_for(2)));
  staged_group group = fixture.group(false);
  const auto others = fixture.take_all();
  CHECK(others.size() == slots_for(2) - 1);
  CHECK(fixture.append(group, test::noise(2 * slot_bytes)) == slot_bytes);
  CHECK_FALSE(fixture.try_group(false));
}

TEST_CASE("a frame that would hardly fit into the slots of a group is not collected, unless all frames are") {
  const test::byte_vector longest = test::zstd_frame_of(test::byte_vector(6 * 16 * slot_bytes));
  const test::byte_vector longer = test::zstd_frame_of(test::byte_vector(6 * 16 * slot_bytes + 1));
  device_frames::settings all = with_slots(slots_for(2));
  staging usual(all);
  CHECK(test::run(usual.pool, usual.frames.begin_group(longest, false)));
  CHECK_FALSE(test::run(usual.pool, usual.frames.begin_group(longer, false)));
  all.takes_all = true;
  staging eager(all);
  CHECK(test::run(eager.pool, eager.frames.begin_group(longer, false)));
}

TEST_CASE(
    "one frame is collected at a time that would hardly fit into half of the share of a long group, or two shorter "
    "ones") {
  const test::byte_vector usual = test::zstd_frame_of(test::byte_vector(6 * 2 * slot_bytes));
  const test::byte_vector half = test::zstd_frame_of(test::byte_vector(6 * 8 * slot_bytes));
  const test::byte_vector longer = test::zstd_frame_of(test::byte_vector(6 * 8 * slot_bytes + 1));
  for (const bool host_shares : {false, true}) {
    CAPTURE(host_shares);
    staging fixture(host_shares ? shared_with_host(slots_for(2)) : with_slots(slots_for(2)));
    const auto begin = [&](const test::byte_vector& frame) {
      return test::run(fixture.pool, fixture.frames.begin_group(frame, false));
    };
    {
      const std::optional<staged_group> one = begin(half);
      CHECK(one);
      CHECK(begin(half));
    }
    std::optional<staged_group> first = begin(longer);
    REQUIRE(first);
    CHECK(begin(usual));
    if (host_shares) {
      CHECK_FALSE(begin(longer));
      first->complete();
      CHECK(begin(longer));
      continue;
    }
    std::atomic<bool> is_begun = false;
    std::jthread waiting([&] {
      CHECK(begin(longer));
      is_begun = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    CHECK_FALSE(is_begun);
    first->complete();
    waiting.join();
    CHECK(is_begun);
  }
}

TEST_CASE("a decoder is made once a group needs one, not for frames that are too long") {
  staging fixture(slots_for(2));
  CHECK_FALSE(fixture.frames.is_ready());
  const test::byte_vector too_long = test::zstd_frame_of(test::byte_vector(6 * 16 * slot_bytes + 1));
  CHECK_FALSE(test::run(fixture.pool, fixture.frames.begin_group(too_long, false)));
  CHECK_FALSE(fixture.frames.is_ready());
  CHECK(fixture.try_group(false));
  CHECK(fixture.frames.is_ready());
}

TEST_CASE("the rate of a device is known once it has decoded text") {
  staging fixture(slots_for(2));
  CHECK(fixture.frames.text_per_second() == 0);
  REQUIRE(fixture.decode(fixture.group_of(test::zstd_frame_of(test::byte_vector(100)))));
  CHECK(fixture.frames.text_per_second() > 0);
}

TEST_CASE("the blocks that are taken from a group have its bytes in order, and own its slots") {
  staging fixture(shared_with_host(slots_for(3)));
  const test::byte_vector bytes = test::noise(2 * slot_bytes + 9);
  std::deque<block> blocks;
  {
    staged_group group = fixture.group_of(bytes);
    blocks = group.take_blocks();
    CHECK(group.size() == 0);
    CHECK(group.pieces().empty());
  }
  CHECK(fixture.take_all().size() == slots_for(3) - 3);
  test::byte_vector taken;
  for (const block& each : blocks) {
    CHECK_FALSE(each.end);
    taken.insert(taken.end(), each.bytes.begin(), each.bytes.end());
  }
  CHECK(taken == bytes);
  blocks.pop_front();
  CHECK(fixture.take_all().size() == slots_for(3) - 2);
  blocks.clear();
  CHECK(fixture.take_all().size() == slots_for(3));
}

TEST_CASE("without a decoder, memory for it, or memory for slots, nothing starts, and the note names missing memory") {
  plain_engine without;
  device_frames none(without, with_slots(5));
  CHECK_FALSE(none.start());
  CHECK_FALSE(none.start());
  CHECK(none.note().empty());  // an engine that wakes devices may have a decoder later

  refusing_engine refusing;
  device_frames refused(refusing, with_slots(5));
  CHECK_FALSE(refused.start());
  CHECK(refused.note() == "frames are decoded on the host: the device lacks memory");

  staging_engine unregistered({}, 0);
  device_frames no_slots(unregistered, with_slots(5));
  CHECK_FALSE(no_slots.start());
  CHECK(no_slots.note() == "frames are decoded on the host: no memory can be page-locked");

  staging_engine unused;
  device_frames no_memory(unused, with_slots(0));
  CHECK_FALSE(no_memory.start());
  CHECK(no_memory.note() ==
        "frames are decoded on the host: the memory limit leaves no memory for their compressed bytes");
}

TEST_CASE("if no more memory can be page-locked there are fewer slots, and a group is decoded with them") {
  staging_engine engine({}, 2);
  device_frames frames(engine, shared_with_host(slots_for(3)));
  async::worker_pool pool{2};
  const test::byte_vector frame = test::zstd_frame_of(test::noise(2 * slot_bytes));
  std::optional<staged_group> group = test::run(pool, frames.begin_group({}, false));
  REQUIRE(group);
  REQUIRE(test::run(pool, group->append({.bytes = frame}, copy_now)) == frame.size());
  std::vector<staged_group> others;
  while (auto more = test::run(pool, frames.begin_group({}, false))) {
    more->complete();
    others.push_back(std::move(*more));
  }
  CHECK(others.size() + 3 == 8);
  CHECK(test::run(pool, frames.decode(*group)));
  CHECK(frames.note().empty());
}

TEST_CASE("whole frames are decoded, and their counts are those of their text") {
  const auto sample = test::zstd_sample_builder("frames")
                          .frame(test::sample_text(3000))
                          .skippable(100)
                          .frame(test::noise(200), {.checksum = false, .content_size = false})
                          .frame({})
                          .build();
  staging fixture(slots_for(100));
  const auto decoded = fixture.decode(fixture.group_of(sample.packed));
  REQUIRE(decoded);
  std::vector<std::uint32_t> expected(256);
  for (const std::byte each : sample.plain) ++expected[std::to_integer<std::size_t>(each)];
  CHECK(decoded->rows == expected);
  CHECK(decoded->text_bytes == sample.plain.size());
  CHECK(decoded->frames == 3);
}

TEST_CASE("skippable frames alone have no text, and no job") {
  staging fixture(slots_for(100));
  const auto decoded = fixture.decode(fixture.group_of(test::skippable_frame(300)));
  REQUIRE(decoded);
  CHECK(decoded->text_bytes == 0);
  CHECK(decoded->frames == 0);
  CHECK(fixture.engine.stats().decoded.groups == 0);
}

TEST_CASE("what is not whole frames, or larger than a job, is left to the host without a job") {
  const auto sample = test::zstd_sample_builder("two").frame(test::sample_text(900)).frame(test::noise(99)).build();
  {
    staging fixture(slots_for(100));
    for (const std::size_t bytes : {sample.packed.size() - 1, sample.ends.front().packed + 1, std::size_t{3}}) {
      CAPTURE(bytes);
      test::byte_vector cut = sample.packed;
      cut.resize(bytes);
      CHECK_FALSE(fixture.decode(fixture.group_of(cut)));
    }
    CHECK(fixture.engine.stats().decoded.rejected_groups == 0);
  }
  using limits = gpu::frame_decoder::limits;
  const limits enough{.compressed_bytes = 5000, .text_bytes = 5000, .frames = 2, .blocks = 2, .slices = 1};
  const auto decodes_with = [&](limits most) {
    staging fixture(slots_for(100), {.most = most});
    return fixture.decode(fixture.group_of(sample.packed)).has_value();
  };
  CHECK(decodes_with(enough));
  limits less = enough;
  less.compressed_bytes = sample.packed.size() - 1;
  CHECK_FALSE(decodes_with(less));
  less = enough;
  less.text_bytes = sample.plain.size() - 1;
  CHECK_FALSE(decodes_with(less));
  less = enough;
  less.frames = 1;
  CHECK_FALSE(decodes_with(less));
  less = enough;
  less.blocks = 1;
  CHECK_FALSE(decodes_with(less));
  less = enough;
  less.slices = 0;
  CHECK_FALSE(decodes_with(less));
}

TEST_CASE("a rejected group is left to the host without a note, and a failure of the device with its error") {
  const test::byte_vector frame = test::zstd_frame_of(test::sample_text(500));
  staging rejecting(slots_for(100), {.rejects_one_of = 1});
  CHECK_FALSE(rejecting.decode(rejecting.group_of(frame)));
  CHECK(rejecting.frames.note().empty());
  staging failing(slots_for(100), {.fails_one_of = 1});
  CHECK_FALSE(failing.decode(failing.group_of(frame)));
  CHECK(failing.frames.note() == "frames are decoded on the host: the device fell off the bus");
}
