// Damaged frames for the zstd decoder of devices, on the host: what it accepts, libzstd accepts, with the same text; no
// frame changes its neighbours, and no access is outside the buffers. FUZZ_RUNS and FUZZ_SEED: see
// tests/support/campaign.hpp; processes with different seeds share a long campaign.
#include "gpu/cuda/kernels_on_host.hpp"
#include "tests/gpu/zstd_comparison.hpp"
#include "tests/gpu/zstd_mutator.hpp"
#include "tests/support/campaign.hpp"

#include <doctest/doctest.h>

#include <cstdio>

using namespace gpuhist::test;
namespace zstd = gpuhist::gpu::cuda::zstd;

namespace {

constexpr std::size_t batch_frames = 64;
constexpr std::size_t runs_of_seeds = 20'000;  // then there are new ones

batch_decoder on_host() {
  return [](const zstd::batch_buffers& batch, const batch_bytes&) { zstd::decode_on_host(batch); };
}

}  // namespace

TEST_CASE("zstd fuzz: a damaged frame is rejected or decoded as by libzstd, and its neighbours are intact") {
  const std::uint32_t seed = fuzz_seed(1);
  std::mt19937 random(seed);
  const std::size_t runs = fuzz_runs(200'000);
  zstd_comparison comparison(on_host());
  std::vector<byte_vector> seeds;
  for (std::size_t run = 0; run < runs;) {
    seeds = small_frames(random, 200);
    zstd_mutator mutator(seeds);
    for (const std::size_t end = std::min(runs, run + runs_of_seeds); run < end; run += batch_frames) {
      std::vector<byte_vector> damaged(batch_frames);
      for (byte_vector& each : damaged) each = mutator.next(random);
      const std::string wrong = comparison.check(damaged, seeds[random() % seeds.size()]);
      if (!wrong.empty()) FAIL("seed ", seed, ", run ", run, ": ", wrong);
    }
  }
  std::printf("zstd fuzz, seed %u: %s\n", seed, comparison.summary().c_str());
  const auto& counted = comparison.counted();
  CHECK(counted.accepted > runs / 20);
  CHECK(counted.rejected > runs / 20);
  CHECK(counted.rejected_by_us + counted.not_listed < runs / 20);
  for (unsigned i = 0; i < std::size(counted.verdicts); ++i) {
    if (static_cast<zstd::verdict>(i) == zstd::verdict::no_room) continue;
    CAPTURE(name_of(static_cast<zstd::verdict>(i)));
    CHECK(counted.verdicts[i] > 0);  // every check of the decoder is reached
  }
}
