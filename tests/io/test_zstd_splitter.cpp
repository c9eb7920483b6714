// The contract of splitters for zstd.
#include "io/zstd/zstd_decoder.hpp"

#include "tests/contract/splitter_contract.hpp"
#include "tests/io/zstd_samples.hpp"

#include <doctest/doctest.h>

using namespace gpuhist::test;
using gpuhist::io::make_zstd_splitter;

namespace {

std::vector<decoder_sample> samples() {
  const zstd_settings bare{.checksum = false, .content_size = false};
  std::vector<decoder_sample> result;
  result.push_back(zstd_sample_builder("one frame").frame(sample_text(700)).build());
  result.push_back(zstd_sample_builder("empty frames").frame({}).frame({}, bare).frame({}).build());
  result.push_back(zstd_sample_builder("frames of all kinds, skippable ones between")
                       .skippable(0)
                       .frame(sample_text(100, 2), bare)
                       .skippable(9, 15)
                       .frame(noise(70))
                       .frame(byte_vector(3000, std::byte{'b'}))
                       .skippable(300)
                       .build());
  return result;
}

}  // namespace

TEST_CASE("zstd: a splitter finds the same frames as the decoder, for any cuts") {
  for (const decoder_sample& sample : samples()) check_splits(make_zstd_splitter, sample);
  byte_vector mixed = sample_text(200'000);
  const byte_vector random = noise(150'000);
  mixed.insert(mixed.end(), random.begin(), random.end());
  mixed.resize(mixed.size() + 140'000, std::byte{'z'});
  check_splits(make_zstd_splitter,
               zstd_sample_builder("blocks of all types").frame(mixed).frame(mixed, {.checksum = false}).build());
}

TEST_CASE("zstd: a splitter finds all frames before any damaged byte") {
  for (const decoder_sample& sample : samples()) check_damaged_splits(make_zstd_splitter, sample);
}

TEST_CASE("zstd: data that is not a zstd frame is one frame without an end") {
  byte_vector packed = zstd_frame_of(sample_text(50));
  const std::size_t end = packed.size();
  packed.resize(end + 100, std::byte{'x'});
  const byte_vector more = zstd_frame_of(sample_text(50));
  packed.insert(packed.end(), more.begin(), more.end());
  CHECK(split(make_zstd_splitter, packed, always(7)) == std::vector<std::size_t>{end});
}
