// The decoder of zstd frames on a device: the rows of the parts of a text.
#include "gpu/cuda/frames/frame_lanes.hpp"
#include "gpu/cuda/fused_runtime.hpp"
#include "tests/gpu/frame_groups.hpp"
#include "tests/gpu/stepped_groups.hpp"
#include "tests/support/device_arrays.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <random>
#include <vector>

using namespace gpuhist::gpu;
using namespace gpuhist::gpu::cuda;

TEST_CASE("on a device units are those of a simple loop, however little memory there is for their rows") {
  if (gpuhist::test::no_device()) return;
  const std::unique_ptr<runtime> owned = make_runtime();
  fused_runtime api(*owned);
  device_properties properties;
  REQUIRE(api.properties(0, properties) == 0);
  const std::vector<frames::frame_device> devices{
      {.api = api, .number = 0, .label = "device 0", .multiprocessors = properties.multiprocessors}};
  const auto all = classes_of_lines("x abc");
  auto some = all;
  some.condition = longer_than(4);
  frames::frame_lanes decoder(devices, std::uint64_t{256} << 20U, partition::identity());
  std::mt19937 random(2);  // NOLINT(*-msc51-cpp): the same texts on every run
  unsigned refusals = 0;
  unsigned decoded = 0;
  for (unsigned round = 0; round < 200; ++round) {
    CAPTURE(round);
    const auto& classes = random() % 2 == 0 ? all : some;
    row_room room(random() % 2 == 0 ? 100 : 1);
    std::vector<std::unique_ptr<frame_group>> groups;
    for (auto left = 2 + random() % 8; left > 0; --left) {
      groups.push_back(std::make_unique<frame_group>(api, frames_to_divide(random), std::size_t{1} << 20U));
      groups.back()->measure(classes, room);
    }
    for (const auto& each : groups) decoder.submit(each->prepare());
    for (const auto& each : groups) each->wait();
    for (const auto& each : groups) {
      if (!each->is_decoded()) continue;  // more rows than the memory of a batch
      each->check_decoded();
      ++decoded;
    }
    CHECK(room.is_all_free());
    refusals += room.refusals();
  }
  CHECK(refusals > 0);
  CHECK(decoded > 200);
}

TEST_CASE("on a device a text that is divided at numbers of bytes or lines has a row and a last byte for each part") {
  if (gpuhist::test::no_device()) return;
  const std::unique_ptr<runtime> owned = make_runtime();
  fused_runtime api(*owned);
  device_properties properties;
  REQUIRE(api.properties(0, properties) == 0);
  const std::vector<frames::frame_device> devices{
      {.api = api, .number = 0, .label = "device 0", .multiprocessors = properties.multiprocessors}};
  frames::frame_lanes decoder(devices, std::uint64_t{256} << 20U, partition::identity());
  std::mt19937 random(1);  // NOLINT(*-msc51-cpp): the same texts on every run
  for (unsigned round = 0; round < 300; ++round) {
    CAPTURE(round);
    std::vector<std::unique_ptr<frame_group>> groups;
    for (auto left = 1 + random() % 8; left > 0; --left) {
      const gpuhist::test::decoder_sample sample = frames_to_divide(random);
      groups.push_back(std::make_unique<frame_group>(api, sample, std::size_t{1} << 20U));
      if (random() % 4 != 0) groups.back()->divide(random_cuts(random, sample.plain, 200));
    }
    for (const auto& each : groups) decoder.submit(each->prepare());
    for (const auto& each : groups) each->wait();
    for (const auto& each : groups) each->check_decoded();
  }
}

namespace {

void check_steps_on_device(unsigned rounds, std::size_t most_bytes) {
  if (gpuhist::test::no_device()) return;
  const std::unique_ptr<runtime> owned = make_runtime();
  fused_runtime api(*owned);
  device_properties properties;
  REQUIRE(api.properties(0, properties) == 0);
  const std::vector<frames::frame_device> devices{
      {.api = api, .number = 0, .label = "device 0", .multiprocessors = properties.multiprocessors}};
  frames::frame_lanes decoder(devices, std::uint64_t{1} << 30U, partition::identity());
  check_steps(decoder, api, rounds, most_bytes);
}

}  // namespace

TEST_CASE("on a device a frame in steps of any blocks has the counts of its text") {
  check_steps_on_device(40, 3'000'000);
}

// For compute-sanitizer: every kernel of a step, in steps of any length.
TEST_CASE("on a device a sanitized sample of a frame in steps has the counts of its text") {
  check_steps_on_device(3, 900'000);
}
