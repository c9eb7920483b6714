// Page-locked memory for compressed bytes that devices decode, and groups of frames in it.
#include "pipeline/flow/decoding/device_frames.hpp"

#include "async/worker_pool.hpp"
#include "gpu/engines.hpp"
#include "tests/io/zstd_samples.hpp"
#include "tests/support/run_coroutine.hpp"
#include "tests/support/shuffling_decoder.hpp"

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

// Registers memory as often as it is allowed to.
class staging_engine final : public test::shuffling_device {
 public:
  explicit staging_engine(const test::shuffling_decoder::settings& with = {},
                          unsigned registrations = std::numeric_limits<unsigned>::max())
      : shuffling_device(gpu::partition::identity(), with), registrations_(registrations) {}

  void register_memory(std::span<std::byte> memory, std::shared_ptr<const void> owner) override {
    if (registered_.size() == registrations_) throw gpu::memory_shortage("no memory can be page-locked");
    registered_.push_back(memory);
    owners_.push_back(std::move(owner));
  }

  [[nodiscard]] bool is_registered(std::span<const std::byte> bytes) const {
    return std::ranges::any_of(registered_, [&](const std::span<std::byte>& each) {
      return each.data() <= bytes.data() && bytes.data() + bytes.size() <= each.data() + each.size();
    });
  }
  [[nodiscard]] std::size_t registrations() const { return registered_.size(); }

 private:
  unsigned registrations_;
  std::vector<std::span<std::byte>> registered_;
  std::vector<std::shared_ptr<const void>> owners_;
};

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
  return {.slot_bytes = slot_bytes, .max_slots = max_slots, .more_slots = more, .group_bytes = 1};
}

// 32 slots for each slot that a group may have.
constexpr std::uint32_t slots_for(std::uint32_t of_group) { return of_group * device_frames::max_share_of_group; }

test::byte_vector joined(const std::vector<std::span<const std::byte>>& pieces) {
  test::byte_vector all;
  for (const auto& each : pieces) all.insert(all.end(), each.begin(), each.end());
  return all;
}

struct staging {
  async::worker_pool pool{2};
  staging_engine engine;
  device_frames frames;

  explicit staging(std::uint32_t max_slots, const test::shuffling_decoder::settings& with = {})
      : engine(with), frames(engine, with_slots(max_slots)) {
    REQUIRE(frames.start());
  }

  std::shared_ptr<staging_slot> acquire() { return test::run(pool, frames.acquire()); }

  staged_group group() { return {frames, acquire()}; }

  // A group with all of these bytes.
  staged_group group_of(const test::byte_vector& bytes) {
    staged_group made = group();
    REQUIRE(made.append(bytes) == bytes.size());
    return made;
  }

  std::optional<decoded_group> decode(const staged_group& group) { return test::run(pool, frames.decode(group)); }

  // Takes all slots that are free or can be made.
  std::vector<std::shared_ptr<staging_slot>> take_all() {
    std::vector<std::shared_ptr<staging_slot>> all;
    while (auto more = frames.try_acquire()) all.push_back(std::move(more));
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
      REQUIRE(group.append(next) == next.size());
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

TEST_CASE("a group has at most its share of the slots") {
  staging fixture(slots_for(2) + 5);
  staged_group group = fixture.group();
  const test::byte_vector bytes = test::noise(3 * slot_bytes);
  CHECK(fixture.frames.max_slots_of_group() == 2);
  CHECK(group.append(std::span(bytes).first(slot_bytes + 1)) == slot_bytes + 1);
  CHECK(group.append(std::span(bytes).subspan(slot_bytes + 1)) == slot_bytes - 1);
  CHECK(group.append(bytes) == 0);
  CHECK(joined(group.pieces()) == test::byte_vector(bytes.begin(), bytes.begin() + 2 * slot_bytes));
  CHECK(staging(5).frames.max_slots_of_group() == 1);
}

TEST_CASE("a group takes further slots only if some are free, and does not wait") {
  staging fixture(slots_for(2));
  staged_group group = fixture.group();
  auto others = fixture.take_all();
  CHECK(others.size() == slots_for(2) - 1);
  const test::byte_vector bytes = test::noise(2 * slot_bytes);
  CHECK(group.append(bytes) == slot_bytes);
  others.pop_back();
  CHECK(group.append(std::span(bytes).subspan(slot_bytes)) == slot_bytes);
  CHECK(joined(group.pieces()) == bytes);
}

TEST_CASE("slots are distinct, their number is limited, and each is free again when its last owner has ended") {
  staging fixture(11);
  for (int again = 0; again < 3; ++again) {
    auto all = fixture.take_all();
    REQUIRE(all.size() == 11);
    std::ranges::sort(all, {}, [](const auto& each) { return each->memory(); });
    for (std::size_t i = 1; i < all.size(); ++i) CHECK(all[i]->memory() >= all[i - 1]->memory() + slot_bytes);
  }
  CHECK(fixture.engine.registrations() == 3);  // four slots, four, and three
}

TEST_CASE("a wait for a slot ends when a slot is returned") {
  staging fixture(3);
  auto all = fixture.take_all();
  std::atomic<bool> has_slot = false;
  std::jthread waiting([&] {
    const auto slot = fixture.acquire();
    has_slot = slot != nullptr;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK_FALSE(has_slot);
  all.pop_back();
  waiting.join();
  CHECK(has_slot);
}

TEST_CASE("the blocks that are taken from a group have its bytes in order, and own its slots") {
  staging fixture(slots_for(3));
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
  device_frames frames(engine, with_slots(100, 4));
  REQUIRE(frames.start());
  std::vector<std::shared_ptr<staging_slot>> all;
  while (auto more = frames.try_acquire()) all.push_back(std::move(more));
  CHECK(all.size() == 8);
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
  CHECK(decoded->row == expected);
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
  const limits enough{.compressed_bytes = 5000, .text_bytes = 5000, .frames = 2, .blocks = 2};
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
