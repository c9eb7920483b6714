// gzip members decoded in parts by several threads (tests/contract/part_contract.hpp), compared with zlib's samples.
#include "io/gzip/deflate_part_decoder.hpp"
#include "io/gzip/gzip_decoder.hpp"

#include "tests/contract/part_contract.hpp"
#include "tests/io/gzip_samples.hpp"
#include "tests/io/zstd_samples.hpp"
#include "tests/support/byte_vectors.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace gpuhist::test;
namespace io = gpuhist::io;

namespace {

const decoder_maker make = [] { return io::make_gzip_decoder({}); };
const part_decoder_maker make_parts = [] { return io::make_gzip_part_decoder(); };

/// Text, noise and runs.
byte_vector mixture(std::size_t bytes, std::uint32_t seed = 1) {
  byte_vector mixed;
  std::mt19937 random(seed);
  while (mixed.size() < bytes) {
    const std::size_t size = 1 + random() % 20'000;
    const auto next = static_cast<std::uint32_t>(random());
    switch (random() % 4) {
      case 0:
        mixed = joined(mixed, noise(size, next));
        break;
      case 1:
        mixed.resize(mixed.size() + size, static_cast<std::byte>(next & 0xFFU));
        break;
      default:
        mixed = joined(mixed, sample_text(size, next));
    }
  }
  mixed.resize(bytes);
  return mixed;
}

std::vector<decoder_sample> samples_of(const byte_vector& plain, const std::string& name) {
  std::vector<decoder_sample> samples;
  for (const int level : {0, 1, 6, 9}) {
    samples.push_back(
        gzip_sample_builder(name + ", level " + std::to_string(level)).member(plain, {.level = level}).build());
  }
  for (const int strategy : {Z_FIXED, Z_HUFFMAN_ONLY, Z_RLE, Z_FILTERED}) {
    samples.push_back(gzip_sample_builder(name + ", strategy " + std::to_string(strategy))
                          .member(plain, {.strategy = strategy, .mem_level = 4})
                          .build());
  }
  for (const int flush : {Z_FULL_FLUSH, Z_SYNC_FLUSH, Z_PARTIAL_FLUSH, Z_BLOCK}) {
    samples.push_back(gzip_sample_builder(name + ", flush " + std::to_string(flush))
                          .member(plain, {.flush_bytes = plain.size() / 23 + 1, .flush = flush})
                          .build());
  }
  samples.push_back(gzip_sample_builder(name + ", small blocks").member(plain, {.level = 6, .mem_level = 1}).build());
  return samples;
}

}  // namespace

TEST_CASE("gzip: decoding in parts changes nothing for texts of all kinds, levels and strategies") {
  for (const decoder_sample& sample : samples_of(sample_text(300'000), "text")) check_parts(make, make_parts, sample);
  for (const decoder_sample& sample : samples_of(noise(120'000), "noise")) check_parts(make, make_parts, sample);
  for (const decoder_sample& sample : samples_of(mixture(500'000), "mixture")) check_parts(make, make_parts, sample);
  for (const decoder_sample& sample : samples_of(byte_vector(3'000'000, std::byte{'a'}), "one letter")) {
    check_parts(make, make_parts, sample);
  }
}

TEST_CASE("gzip: decoding in parts changes nothing for several members, with padding and all fields of headers") {
  const gzip_settings all_fields{.name = "a name", .comment = "a comment", .extra = "more", .header_checksum = true};
  gzip_sample_builder members("members");
  for (std::uint32_t i = 0; i < 40; ++i) {
    members.member(mixture(3000 * (i % 7), i),
                   i % 3 == 0 ? all_fields : gzip_settings{.level = static_cast<int>(i % 10)});
    if (i % 5 == 0) members.padding(i);
  }
  check_parts(make, make_parts, members.padding(100).build());
  check_parts(make, make_parts,
              gzip_sample_builder("BGZF").block(sample_text(60'000)).block(noise(30'000)).block({}).build());
}
