// The zstd decoder on a device, compared with the same phases on the host: verdict and text of every frame, and the
// bytes between the texts.
#include "gpu/cuda/kernels_on_host.hpp"
#include "tests/gpu/zstd_corpus.hpp"
#include "tests/gpu/zstd_mutator.hpp"
#include "tests/support/campaign.hpp"
#include "tests/support/device_batch.hpp"
#include "tests/support/zstd_batch.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

using namespace gpuhist::test;
namespace zstd = gpuhist::gpu::cuda::zstd;
using zstd::verdict;

namespace {

// Bits before the begin of a stream of sequences differ between device and host. They do not change whether the stream
// is valid, but which of its errors is found first.
bool are_same(verdict device, verdict host) {
  const auto depends_on_bits = [](verdict is) {
    return is == verdict::sequences_stream || is == verdict::match_offset;
  };
  return device == host || (depends_on_bits(device) && depends_on_bits(host));
}

struct compared {
  std::size_t decoded = 0;
  std::size_t rejected = 0;
  std::size_t different = 0;
};

// Decodes on the host, then on the device, where every second frame is divided into parts.
void compare(zstd_batch& batch, compared& counted) {
  const batch_rooms rooms = batch.describe();
  batch.decode([](const zstd::batch_buffers& buffers, const batch_bytes&) { zstd::decode_on_host(buffers); }, rooms);
  std::vector<verdict> verdicts;
  std::vector<byte_vector> texts;
  for (std::uint32_t i = 0; i < batch.size(); ++i) {
    verdicts.push_back(batch.verdict_of(i));
    const auto text = batch.text_of(i);
    texts.emplace_back(text.begin(), text.end());
  }
  for (std::uint32_t i = 1; i < batch.size(); i += 2) batch.divide(i);
  batch.decode(decode_on_device, rooms);
  CHECK(batch.kept_bounds());
  for (std::uint32_t i = 0; i < batch.size(); ++i) {
    const bool is_decoded = verdicts[i] == verdict::decoded;
    ++(is_decoded ? counted.decoded : counted.rejected);
    const bool same =
        are_same(batch.verdict_of(i), verdicts[i]) && (!is_decoded || std::ranges::equal(batch.text_of(i), texts[i]));
    if (same) continue;
    ++counted.different;
    CAPTURE(i);
    CAPTURE(batch.size());
    CAPTURE(name_of(batch.verdict_of(i)));
    CAPTURE(name_of(verdicts[i]));
    FAIL_CHECK("a frame is not decoded as on the host");
  }
}

// Batches of `batch_frames` damaged frames, and intact ones between. At most a few hundred frames get the large team.
compared compare_damaged(std::mt19937& random, std::size_t runs, std::size_t batch_frames) {
  compared counted;
  const std::vector<byte_vector> seeds = small_frames(random, 200);
  zstd_mutator mutator(seeds);
  for (std::size_t run = 0; run < runs && counted.different == 0; run += batch_frames) {
    zstd_batch batch;
    for (std::size_t i = 0; i < std::min(batch_frames, runs - run); ++i) {
      if (i % 16 == 0) batch.add(seeds[random() % seeds.size()]);
      batch.add(mutator.next(random));
    }
    compare(batch, counted);
  }
  return counted;
}

}  // namespace

TEST_CASE("the device decodes every frame of libzstd") {
  if (no_device()) return;
  for (const named_text& text : corpus_texts()) {
    CAPTURE(text.name);
    zstd_batch batch;
    for (const frame_settings& settings : corpus_settings(text.bytes.size(), false)) {
      REQUIRE(batch.add(encoded_frame_of(text.bytes, settings)).is_listed);
    }
    compared counted;
    compare(batch, counted);
    CHECK(counted.decoded == batch.size());
  }
}

TEST_CASE("the device decodes many small frames at once") {
  if (no_device()) return;
  std::mt19937 random(fuzz_seed(5));
  zstd_batch batch;
  for (const byte_vector& each : small_frames(random, 3000)) REQUIRE(batch.add(each).is_listed);
  compared counted;
  compare(batch, counted);
  CHECK(counted.decoded == 3000);
}

TEST_CASE("the device judges and decodes damaged frames as the host does") {
  if (no_device()) return;
  std::mt19937 random(fuzz_seed(6));
  const std::size_t runs = fuzz_runs(100'000);
  for (const std::size_t batch_frames : {std::size_t{200}, std::size_t{2000}}) {
    CAPTURE(batch_frames);
    const compared counted = compare_damaged(random, runs / 2, batch_frames);
    std::printf("batches of %zu: %zu frames decoded, %zu rejected\n", batch_frames, counted.decoded, counted.rejected);
    CHECK(counted.different == 0);
    CHECK(counted.decoded > runs / 20);
    CHECK(counted.rejected > runs / 20);
  }
}

TEST_CASE("a sanitized sample of damaged frames: the device stays in its buffers") {
  if (no_device()) return;
  std::mt19937 random(fuzz_seed(7));
  for (const std::size_t frames : {std::size_t{300}, std::size_t{1700}}) {
    const compared counted = compare_damaged(random, frames, frames);
    CHECK(counted.different == 0);
    CHECK(counted.decoded > 0);
  }
}
