// The deflate decoder on a device, compared with zlib: text and checksum of every member, and the bytes between.
#include "tests/support/campaign.hpp"
#include "tests/support/device_batch.hpp"
#include "tests/support/member_batch.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

using namespace gpuhist::test;

TEST_CASE("the device decodes members of every level, strategy and block size of zlib, in any portions") {
  if (no_device()) return;
  std::mt19937 random(fuzz_seed(74));
  tally all;
  for (unsigned run = 0; run < 40; ++run) {
    std::vector<member> members;
    for (unsigned i = 0; i < 40; ++i) {
      members.push_back(
          member_of(random_text(random, random() % (i % 8 == 0 ? 900'000 : 6'000)), random_settings(random)));
      if (i % 8 == 4) members.back().portions = static_cast<std::uint32_t>(2 + random() % 12);
    }
    compare(decode_on_device, members, all);
  }
  CHECK(all.rejected + all.rejected_by_us == 0);
  CHECK(all.without_room < all.accepted / 20);  // more portions than the program makes
}

TEST_CASE("the device decodes many members at once, of which several portions are one") {
  if (no_device()) return;
  std::mt19937 random(fuzz_seed(75));
  std::string lines;
  while (lines.size() < 2'500'000) lines += "host" + std::to_string(random() % 1'000'000) + " GET /index.html 200\n";
  const byte_vector text = vector_of(lines);
  const member long_one = member_of(text);
  std::vector<member> members(1500, member_of(byte_vector(text.begin(), text.begin() + 5'000)));
  for (std::size_t i = 0; i < members.size(); i += 25) members[i] = long_one;
  tally all;
  compare(decode_on_device, members, all);
  CHECK(all.accepted == members.size());
}

TEST_CASE("on a device a damaged member is rejected or decoded as by zlib, and its neighbours are intact") {
  if (no_device()) return;
  std::mt19937 random(fuzz_seed(76));
  tally all;
  constexpr std::size_t members = 2000;
  for (std::size_t run = 0, runs = fuzz_runs(100'000); run < runs; run += members) {
    compare(decode_on_device, damaged_members(random, members), all);
  }
  std::printf("%zu members accepted, %zu rejected, %zu without room\n", all.accepted, all.rejected, all.without_room);
  CHECK(all.accepted > all.rejected / 10);
  CHECK(all.rejected > 0);
  CHECK(all.rejected_by_us < all.accepted / 20);
}

TEST_CASE("a sanitized sample of damaged members: the device stays in its buffers") {
  if (no_device()) return;
  std::mt19937 random(fuzz_seed(77));
  tally all;
  for (const std::size_t members : {300, 1700}) compare(decode_on_device, damaged_members(random, members), all);
  CHECK(all.accepted > 0);
  CHECK(all.rejected > 0);
}
