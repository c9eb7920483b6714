// The contract of splitters for lz4.
#include "io/lz4/lz4_decoder.hpp"

#include "tests/contract/splitter_contract.hpp"
#include "tests/io/lz4_samples.hpp"
#include "tests/io/zstd_samples.hpp"
#include "tests/support/byte_vectors.hpp"

#include <doctest/doctest.h>

using namespace gpuhist::test;
using gpuhist::io::make_lz4_splitter;

TEST_CASE("lz4: a splitter finds the same frames as the decoder, for any cuts") {
  check_splits(make_lz4_splitter, lz4_sample_builder("one").frame(sample_text(700)).build());
  check_splits(make_lz4_splitter,
               lz4_sample_builder("all kinds")
                   .frame({})
                   .skippable(7)
                   .frame(sample_text(200'000), {.linked_blocks = true, .block_checksums = true, .content_size = true})
                   .frame(noise(70'000), {.content_checksum = false})
                   .skippable(0)
                   .frame(noise(1), {.block_size = LZ4F_max4MB})
                   .build());
}

TEST_CASE("lz4: a splitter finds all frames before any damaged byte") {
  check_damaged_splits(make_lz4_splitter, lz4_sample_builder("small frames")
                                              .frame(sample_text(100))
                                              .frame({})
                                              .frame(noise(50), {.block_checksums = true})
                                              .build());
}

TEST_CASE("lz4: a splitter is lost at a legacy frame, and the manner states the cause") {
  const byte_vector frame = lz4_frame_of(sample_text(500));
  CHECK(manner_of(make_lz4_splitter, joined(frame, frame)) == "frames found by the sizes of their blocks");
  const byte_vector legacy = joined(lz4_legacy_magic(), lz4_legacy_block_of(sample_text(50)));
  const byte_vector both = joined(frame, joined(legacy, frame));
  CHECK(split(make_lz4_splitter, both, always(7)) == std::vector<std::size_t>{frame.size()});
  CHECK(manner_of(make_lz4_splitter, both) == "the end of a legacy frame cannot be found without decoding it");
  CHECK(manner_of(make_lz4_splitter, joined(frame, noise(30))) ==
        "no frame can be found after data that is not an lz4 frame");
}
