// The deflate decoder of devices, on the host: what it accepts, zlib accepts, with the same text; no member changes its
// neighbours, and no access is outside the buffers. FUZZ_RUNS and FUZZ_SEED: see tests/support/campaign.hpp.
#include "gpu/cuda/kernels_on_host.hpp"
#include "tests/support/campaign.hpp"
#include "tests/support/member_batch.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

using namespace gpuhist::test;

namespace {

void on_host(const zstd::batch_buffers& batch, const batch_bytes&) { zstd::decode_on_host(batch); }

TEST_CASE("members of every level, strategy and block size of zlib are decoded to their text") {
  std::mt19937 random(fuzz_seed(71));
  tally all;
  for (std::size_t run = 0, runs = unless_sampled(300, 60); run < runs; ++run) {
    std::vector<member> members;
    for (unsigned i = 0; i < 5; ++i) {
      members.push_back(member_of(random_text(random, random() % (i == 0 ? 500'000 : 6'000)), random_settings(random)));
    }
    compare(on_host, members, all);
  }
  CHECK(all.rejected == 0);
  CHECK(all.rejected_by_us == 0);
  CHECK(all.without_room == 0);
  CHECK(all.accepted > 0);
}

TEST_CASE("a member that is cut at any byte, or followed by another one, is rejected") {
  std::mt19937 random(3);
  for (const int strategy : {Z_DEFAULT_STRATEGY, Z_FIXED, Z_HUFFMAN_ONLY}) {
    const member whole = member_of(random_text(random, 700), {.strategy = strategy});
    std::vector<member> members{whole};
    for (std::size_t size = 1; size < whole.packed.size(); ++size) {
      members.push_back({.packed = {whole.packed.begin(), whole.packed.begin() + static_cast<std::ptrdiff_t>(size)},
                         .text_bytes = whole.text_bytes});
    }
    members.push_back({.packed = joined(whole.packed, vector_of("x")), .text_bytes = whole.text_bytes});
    members.push_back({.packed = whole.packed, .text_bytes = whole.text_bytes + 1});
    members.push_back({.packed = whole.packed, .text_bytes = whole.text_bytes - 1});
    tally all;
    compare(on_host, members, all);
    CHECK(all.accepted == 1);
    CHECK(all.rejected == members.size() - 1);
  }
}

TEST_CASE("text that is divided into blocks of the batch is the same at every boundary") {
  std::mt19937 random(4);
  constexpr std::size_t block = zstd::max_block_bytes;
  std::vector<member> members;
  for (const std::size_t size : {block - 259, block - 258, block - 1, block, block + 1, 2 * block, 2 * block + 1}) {
    for (const int level : {0, 1, 6}) {
      byte_vector text = random_text(random, size);
      members.push_back(member_of(text, {.level = level}));
      members.push_back(member_of(byte_vector(size, std::byte{'y'}), {.level = level}));
    }
  }
  tally all;
  compare(on_host, members, all);
  CHECK(all.rejected_by_us + all.rejected == 0);
  CHECK(all.accepted == members.size());
}

TEST_CASE("the checksum of a text of any length is found, at any place in the batch") {
  std::mt19937 random(5);
  tally all;
  std::vector<member> members;
  for (std::size_t size = 0; size < 600; ++size) members.push_back(member_of(random_bytes(random, size)));
  for (std::size_t i = 0; i < 60; ++i) members.push_back(member_of(random_bytes(random, 64 * 1024 - 8 + i)));
  members.push_back(member_of(random_text(random, 1'000'003)));
  compare(on_host, members, all);
  CHECK(all.accepted == members.size());
  for (member& each : members) each.checksum ^= std::uint32_t{1} << random() % 32;
  compare(on_host, members, all);
}

TEST_CASE("a member that is divided into portions has the same text, wherever its blocks begin") {
  std::mt19937 random(fuzz_seed(73));
  tally all;
  for (std::size_t run = 0, runs = unless_sampled(300, 60); run < runs; ++run) {
    std::vector<member> members;
    for (unsigned i = 0; i < 4; ++i) {
      members.push_back(member_of(random_text(random, random() % 200'000), random_settings(random)));
      members.back().portions = static_cast<std::uint32_t>(2 + random() % 12);
    }
    compare(on_host, members, all);
  }
  CHECK(all.rejected == 0);
  CHECK(all.rejected_by_us == 0);
  CHECK(all.without_room < all.accepted / 20);  // more portions than the program makes
}

TEST_CASE("a long member is divided where its blocks begin") {
  constexpr std::size_t size = 6'000'000;
  std::mt19937 random(6);
  const auto text_of = [&](auto word) {
    std::string text;
    while (text.size() < size) text += word();
    return vector_of(text);
  };
  const auto letters = [&] { return std::string(1, static_cast<char>('A' + random() % 64)); };  // are not compressed
  const auto bases = [&] { return std::string(1, "acgt"[random() % 4]); };                      // matches are short
  const auto numbers = [&] { return std::to_string(random() % 100'000) + ", "; };
  const auto lines = [&] { return "host" + std::to_string(random() % 100) + " GET /index.html 200\n"; };
  for (const byte_vector& text : {text_of(letters), text_of(bases), text_of(numbers), text_of(lines)}) {
    for (const int level : {6, 9}) {
      CAPTURE(level);
      CAPTURE(static_cast<char>(text.front()));
      const member_batch batch({member_of(text, {.level = level})}, on_host);
      CHECK(batch.verdict_of(0) == zstd::verdict::decoded);
      CHECK((batch.text_of(0) == text));
      CHECK(batch.has_stated_checksum(0));
      CHECK(batch.begins_of(0) > 3);
    }
  }
}

TEST_CASE("a stream of blocks without text is left to the host, as a thread would need long for it") {
  // 10 bits each, with fixed codes: no last block, type 1, the end of the block. Then a last one.
  byte_vector packed;
  std::uint64_t bits = 0;
  unsigned count = 0;
  const std::size_t blocks = deflate_phase::most_bytes_of_portion;
  for (std::size_t i = 0; i <= blocks; ++i) {
    bits |= std::uint64_t{i < blocks ? 2U : 3U} << count;
    for (count += 10; count >= 8; count -= 8, bits >>= 8U) packed.push_back(static_cast<std::byte>(bits));
  }
  packed.push_back(static_cast<std::byte>(bits));  // two bits
  tally all;
  compare(on_host, {member{.packed = packed}, member_of(vector_of("neighbour"))}, all);
  CHECK(all.accepted == 1);
  CHECK(all.rejected_by_us == 1);
}

TEST_CASE("blocks of a stream within the text of a member are no begins of its own blocks") {
  std::mt19937 random(7);
  tally all;
  for (const int level : {0, 1, 6}) {
    byte_vector text;
    while (text.size() < 300'000) {
      const byte_vector inner = gzip_member_of(random_text(random, 40'000), {.level = 9, .flush_bytes = 2000});
      text = joined(std::move(text), inner);
    }
    std::vector<member> members{member_of(text, {.level = level})};
    members.back().portions = 8;
    const member_batch batch(members, on_host);
    CHECK(batch.begins_of(0) > 1);
    compare(on_host, members, all);
  }
  CHECK(all.rejected + all.rejected_by_us == 0);
}

TEST_CASE("deflate fuzz: a damaged member is rejected or decoded as by zlib, and its neighbours are intact") {
  const std::uint32_t seed = fuzz_seed(72);
  std::mt19937 random(seed);
  tally all;
  constexpr std::size_t members = 64;
  for (std::size_t run = 0, runs = fuzz_runs(20'000); run < runs; run += members) {
    CAPTURE(seed);
    CAPTURE(run);
    compare(on_host, damaged_members(random, members), all);
  }
  std::printf("deflate fuzz, seed %u: %zu accepted, %zu rejected, %zu without room\n", seed, all.accepted, all.rejected,
              all.without_room);
  CHECK(all.accepted > all.rejected / 10);
  CHECK(all.rejected > 0);
  CHECK(all.rejected_by_us < all.accepted / 20);
}

}  // namespace
