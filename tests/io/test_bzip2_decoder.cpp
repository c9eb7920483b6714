// The contract of decoders for bzip2, and the properties of bzip2 alone: block sizes, messages.
#include "io/bzip2/bzip2_decoder.hpp"

#include "tests/io/packed_samples.hpp"
#include "tests/io/zstd_samples.hpp"
#include "tests/support/byte_vectors.hpp"

#include <doctest/doctest.h>

using namespace gpuhist::test;
using gpuhist::io::fill_status;
using gpuhist::io::make_bzip2_decoder;

namespace {

const decoder_maker make = [] { return make_bzip2_decoder({}); };

std::vector<decoder_sample> small_samples() {
  std::vector<decoder_sample> samples;
  samples.push_back(packed_sample_builder("one byte").bzip2(sample_text(1), 1).build());
  samples.push_back(packed_sample_builder("nothing, twice").bzip2({}).bzip2({}, 1).build());
  samples.push_back(packed_sample_builder("text").bzip2(sample_text(300), 1).build());
  samples.push_back(packed_sample_builder("streams")
                        .bzip2(sample_text(100, 2), 2)
                        .bzip2({}, 9)
                        .bzip2(noise(70), 1)
                        .bzip2(byte_vector(300, std::byte{'b'}), 1)
                        .build());
  return samples;
}

/// More than two blocks of level 1; runs of various lengths between text.
byte_vector mixed_text() {
  byte_vector mixed = joined(sample_text(90'000), noise(70'000));
  for (std::size_t length = 1; length < 400; length += 3) mixed.resize(mixed.size() + length, std::byte(length % 256));
  return joined(mixed, sample_text(50'000, 4));
}

}  // namespace

TEST_CASE("bzip2: the contract of decoders") {
  check_decoder(make, small_samples());
  check_decoder_of_large(make, {packed_sample_builder("blocks").bzip2(mixed_text(), 1).bzip2(mixed_text(), 9).build()});
}

TEST_CASE("bzip2: other data is reported") {
  check_foreign_data(make, {"bzip2", "stream"}, bzip2_stream_of(sample_text(10)), {"junk", "BZ junk", "\1"});
  CHECK(decode_at_once(make, vector_of("BZh0")).error ==
        "stream 1 is damaged (its header has an invalid block size) at compressed offset 4, decompressed offset 0");
}

TEST_CASE("bzip2: damage never makes other content accepted, for any cuts of input and output") {
  check_damage(make, packed_sample_builder("text and noise").bzip2(sample_text(120), 1).bzip2(noise(9), 1).build());
}

TEST_CASE("bzip2: all text before a wrong checksum is delivered, for any output size, and then the error") {
  const byte_vector plain = sample_text(5000);
  byte_vector packed = bzip2_stream_of(plain, 1);
  packed[10] ^= std::byte{1};  // in the block: after the header of the stream (4) and the magic number of the block (6)
  for_all_cuts(5000, [&](const size_chooser& in, const size_chooser& out) {
    const decoding got = decode(make, packed, in, out, plain.size());
    CHECK(got.failed);
    CHECK(got.plain == plain);
    CHECK_MESSAGE(got.error.starts_with(
                      "stream 1 is damaged (a block does not decode, or does not match its checksum) at compressed "),
                  got.error);
    CHECK_MESSAGE(got.error.ends_with(", decompressed offset 5000"), got.error);
  });
}

TEST_CASE("bzip2: memory for blocks is refused above the limit, and requested above the granted size") {
  const byte_vector packed = bzip2_stream_of(sample_text(10), 9);
  byte_vector out(100);
  const auto refusing = make_bzip2_decoder({.window_bytes = 3'000'000});
  CHECK(refusing->fill(packed, out).status == fill_status::failed);
  CHECK_MESSAGE(refusing->fault(0).starts_with("stream 1 needs a window of 8100000 bytes, more than the 2 MiB left"),
                refusing->fault(0));
  const auto asking = make_bzip2_decoder({.window_bytes = 9'000'000, .granted_bytes = 1'000'000});
  const auto asked = asking->fill(packed, out);
  CHECK(asked.status == fill_status::needs_window);
  CHECK(asking->window_wanted() == 8'100'000);
  asking->grant_window(8'100'000);
  CHECK(asking->fill(std::span(packed).subspan(asked.consumed), out).status == fill_status::frame_verified);
}
