// The arithmetic of kernels, run on the host: the division of spans into parts, the layout of the counters of
// lane_private, and the choice of a tuning.
#include "gpu/cuda/kernel_tuning.hpp"
#include "gpu/cuda/kernels/aligned_span.hpp"
#include "gpu/cuda/kernels/chunk_shares.hpp"
#include "gpu/cuda/kernels/extent_search.hpp"
#include "gpu/cuda/kernels/lane_counters.hpp"
#include "gpu/cuda/kernels/pair_counters.hpp"
#include "gpu/cuda/span/bins.hpp"
#include "tests/support/letter_buckets.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

namespace gpuhist::gpu::cuda {
namespace {

using namespace kernels;
using test::bucket_by_name;

TEST_CASE("every byte value has the bucket that names its letter") {
  for (unsigned byte = 0; byte < 256; ++byte) {
    const auto value = static_cast<std::uint8_t>(byte);
    CHECK(bucket_of<bins::letters>(value) == bucket_by_name(value));
    CHECK(bucket_of<bins::bytes>(value) == byte);
  }
}

TEST_CASE("the parts of a span cover each of its bytes once, and vectors begin at a cache line") {
  for (std::uint64_t address = 4096; address < 4096 + 130; ++address) {
    for (std::uint64_t size = 0; size < 600; ++size) {
      const aligned_span aligned = divide_span(address, size);
      REQUIRE(aligned.head + aligned.vectors * vector_bytes + aligned.tail == size);
      REQUIRE(aligned.tail_begin() + aligned.tail == size);
      REQUIRE(aligned.tail < vector_bytes);
      REQUIRE(aligned.head < line_bytes);
      if (aligned.vectors != 0) REQUIRE((address + aligned.head) % line_bytes == 0);
    }
  }
  CHECK(divide_span(1, ~std::uint64_t{0}).vectors == (~std::uint64_t{0} - 127) / 16);
}

TEST_CASE("the number of blocks is that of resident blocks, fewer for small spans, more if a block would overflow") {
  CHECK(blocks_for(0, 264, 16384) == 1);
  CHECK(blocks_for(1, 264, 16384) == 1);
  CHECK(blocks_for(16385, 264, 16384) == 2);
  CHECK(blocks_for(std::uint64_t{1} << 30U, 264, 16384) == 264);
  CHECK(blocks_for(std::uint64_t{9} << 30U, 2, 16384) == 5);
}

// The invariant of the layout: distinct (value, lane) pairs have distinct counters, and all counters of a lane are in
// its bank.
template <unsigned Copies>
void lanes_use_different_banks() {
  using layout = lane_layout<Copies>;
  std::set<std::uint32_t> seen;
  for (unsigned thread = 0; thread < Copies; ++thread) {
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t lane_offset = layout::lane_offset(thread);
      const std::uint32_t offset = layout::template counter_offset<0>(byte | 0x5a5a5a00U, lane_offset);
      REQUIRE(layout::template counter_offset<1>(byte << 8U | 0xa5a500a5U, lane_offset) == offset);
      REQUIRE(layout::template counter_offset<2>(byte << 16U | 0xff00ffffU, lane_offset) == offset);
      REQUIRE(layout::template counter_offset<3>(byte << 24U | 0x00123456U, lane_offset) == offset);
      REQUIRE(offset < layout::bytes);
      REQUIRE(offset / 4 % 32 == thread % 32);
      REQUIRE(offset / layout::bytes_per_value == byte);
      REQUIRE(seen.insert(offset).second);
    }
  }
}

TEST_CASE("the lanes of a warp use different banks, and counters do not overlap") {
  lanes_use_different_banks<32>();
  lanes_use_different_banks<64>();
}

template <unsigned Copies, unsigned Threads>
void folds_without_conflicts() {
  using order = fold_layout<Copies, Threads>;
  std::set<unsigned> seen;
  for (unsigned step = 0; step < order::vectors_per_thread; ++step) {
    for (unsigned first = 0; first < Threads; first += 8) {
      std::set<unsigned> banks;
      for (unsigned thread = first; thread < first + 8; ++thread) {
        const unsigned vector = order::vector(thread, step);
        REQUIRE(vector * 16 / lane_layout<Copies>::bytes_per_value == order::value(thread));
        banks.insert(vector % 8);
        seen.insert(vector);
      }
      REQUIRE(banks.size() == 8);
    }
  }
  CHECK(seen.size() == lane_layout<Copies>::bytes / 16);
}

TEST_CASE("a fold reads every counter once, and eight threads read from all banks") {
  folds_without_conflicts<32, 1024>();
  folds_without_conflicts<64, 1024>();
  folds_without_conflicts<32, 512>();
  folds_without_conflicts<64, 512>();
}

template <unsigned Copies>
void pairs_have_counters_of_their_own(unsigned classes) {
  const pair_layout<Copies> layout(classes);
  std::set<std::uint32_t> seen;
  for (unsigned lane = 0; lane < Copies; ++lane) {
    std::set<std::uint32_t> banks_of_lane;
    for (unsigned first = 0; first < classes; ++first) {
      for (unsigned second = 0; second < classes; ++second) {
        const std::uint32_t offset = layout.offset(layout.entry(first, lane), layout.entry(second, lane));
        REQUIRE(offset % 4 == 0);
        REQUIRE(offset < layout.counter_bytes());
        REQUIRE(offset / 4 == layout.counter_word(first * layout.stride + second, lane));
        REQUIRE(seen.insert(offset).second);
        banks_of_lane.insert(offset / 4 % Copies);
      }
    }
    REQUIRE(banks_of_lane.size() == 1);
  }
}

TEST_CASE("each pair of classes has a counter for each lane, which shares no word and no bank with other lanes") {
  for (unsigned classes = 1; classes <= max_pair_classes; ++classes) {
    pairs_have_counters_of_their_own<32>(classes);
    pairs_have_counters_of_their_own<8>(classes);
    std::set<std::uint32_t> banks;
    for (unsigned lane = 0; lane < 32; ++lane) banks.insert(pair_layout<32>(classes).counter_word(0, lane) % 32);
    CHECK(banks.size() == 32);
  }
}

TEST_CASE("the smaller layout fits the shared memory that every device has, the larger one that of Hopper") {
  CHECK(pair_layout<8>(std::uint32_t{max_pair_classes}).shared_bytes() <= 48 * 1024);
  CHECK(pair_layout<32>(std::uint32_t{max_pair_classes}).shared_bytes() <= 227 * 1024);
  CHECK(2 * (pair_layout<32>(8).shared_bytes() + 1024) <= 228 * 1024);
}

TEST_CASE("the first extent that ends after a place is found by its end") {
  const std::vector<extent> extents{{.begin = 0, .end = 4}, {.begin = 4, .end = 4}, {.begin = 6, .end = 9}};
  const auto found = [&](std::uint32_t at) { return first_extent_after(extents.data(), 3, at); };
  CHECK(found(0) == 0);
  CHECK(found(3) == 0);
  CHECK(found(4) == 2);
  CHECK(found(8) == 2);
  CHECK(found(9) == 3);
  CHECK(first_extent_after(nullptr, 0, 7) == 0);
}

// Adds one to the visits of each byte that a thread of the block counts, as the kernels do.
void visit(const block_share& share, std::uint32_t threads, const std::uint8_t* chunk, std::vector<int>& visits) {
  const auto at = [&](const std::uint8_t* byte) { return static_cast<std::size_t>(byte - chunk); };
  for (std::uint32_t thread = 0; thread < threads; ++thread) {
    for (std::uint32_t v = share.first_vector + thread; v < share.vector_count(); v += share.step) {
      for (std::size_t i = 0; i < vector_bytes; ++i) ++visits[at(share.vectors()) + v * vector_bytes + i];
    }
  }
  if (!share.ends) return;
  for (std::size_t i = 0; i < share.aligned.head; ++i) ++visits[at(share.bytes) + i];
  for (std::size_t i = 0; i < share.aligned.tail; ++i) ++visits[at(share.bytes) + share.aligned.tail_begin() + i];
}

// Random extents, of which some are empty and some touch, in a chunk of `size` bytes.
std::vector<extent> random_extents(std::mt19937& random, std::uint32_t size, std::size_t count) {
  std::vector<std::uint32_t> cuts(2 * count);
  for (std::uint32_t& cut : cuts) cut = static_cast<std::uint32_t>(random() % (size + 1));
  std::ranges::sort(cuts);
  for (std::size_t i = 2; i < cuts.size(); i += 6) cuts[i] = cuts[i - 1];
  std::vector<extent> extents;
  for (std::size_t i = 0; i < count; ++i) extents.push_back({.begin = cuts[2 * i], .end = cuts[2 * i + 1]});
  return extents;
}

TEST_CASE("the blocks of a kernel count each byte of each extent once, and no other byte") {
  constexpr std::uint32_t threads = 32;
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    const auto size = static_cast<std::uint32_t>(1 + random() % 60000);
    std::vector<std::uint8_t> bytes(size);
    const std::vector<extent> extents = random_extents(random, size, 1 + random() % 9);
    const auto chunk = divide_chunk({.bytes = reinterpret_cast<const std::byte*>(bytes.data()),
                                     .extents = extents.data(),
                                     .extent_count = static_cast<std::uint32_t>(extents.size()),
                                     .chunk_bytes = size,
                                     .multiprocessors = 5},
                                    2, 1024);
    const auto blocks = static_cast<std::uint32_t>(chunk.blocks());
    CHECK(blocks >= 1);
    CHECK(blocks <= 10);
    std::vector<int> expected(size);
    for (const extent& each : extents) {
      for (std::uint32_t i = each.begin; i < each.end; ++i) ++expected[i];
    }
    const auto visits_of = [&](auto shares_of) {
      std::vector<int> visits(size);
      for (std::uint32_t block = 0; block < blocks; ++block) {
        auto shares = shares_of(block);
        for (block_share share; shares.next(share);) {
          const extent& whole = extents[share.extent];
          CHECK(share.has_before == (share.bytes != bytes.data() + whole.begin));
          visit(share, threads, bytes.data(), visits);
        }
      }
      return visits;
    };
    CHECK(visits_of([&](std::uint32_t block) { return contiguous_shares(chunk, block, threads); }) == expected);
    CHECK(visits_of([&](std::uint32_t block) { return tile_shares(chunk, block, blocks, threads); }) == expected);
  }
}

constexpr kernel_device h200{.compute_major = 9,
                             .compute_minor = 0,
                             .multiprocessors = 132,
                             .shared_bytes = 228 * 1024,
                             .shared_bytes_block = 227 * 1024,
                             .threads = 2048};

TEST_CASE("a device with enough shared memory uses 64 copies, others use fewer") {
  CHECK(tuning_for(h200).copies == 64);
  CHECK(tuning_for(h200).loads == 4);
  kernel_device small = h200;
  small.shared_bytes = 100 * 1024;
  small.shared_bytes_block = 99 * 1024;
  small.threads = 1536;
  CHECK(tuning_for(small).copies == 64);
  const kernel_device turing{.compute_major = 7,
                             .compute_minor = 5,
                             .multiprocessors = 40,
                             .shared_bytes = 64 * 1024,
                             .shared_bytes_block = 64 * 1024,
                             .threads = 1024};
  CHECK(tuning_for(turing) == shipped_tunings.back());
}

TEST_CASE("describe() gives a tuning in words") {
  CHECK(describe(tuning_for(h200)) ==
        "1024 threads a block, 1 a multiprocessor, 64 copies of the counters (64 KiB), 4 loads of 16 bytes in flight, "
        "interleaved tiles of 64 KiB");
}

}  // namespace
}  // namespace gpuhist::gpu::cuda
