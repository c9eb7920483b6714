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

std::string error_of(const byte_vector& packed) { return decode_at_once(make, packed).error; }

}  // namespace

TEST_CASE("bzip2: cuts of input and output change neither the bytes nor the end of a stream") {
  for (const decoder_sample& sample : small_samples()) check_cuts(make, sample);
  check_cuts(make, packed_sample_builder("blocks").bzip2(mixed_text(), 1).bzip2(mixed_text(), 9).build());
}

TEST_CASE("bzip2: an input that ends within a stream is never accepted") {
  for (const decoder_sample& sample : small_samples()) check_truncations(make, sample);
}

TEST_CASE("bzip2: damage never makes other content accepted, for any cuts of input and output") {
  check_damage(make, packed_sample_builder("text and noise").bzip2(sample_text(120), 1).bzip2(noise(9), 1).build());
}

TEST_CASE("bzip2: a stream is verified with room for exactly its content") {
  for (const decoder_sample& sample : small_samples()) check_exact_room(make, sample);
  check_exact_room(make, packed_sample_builder("blocks").bzip2(mixed_text(), 1).build());
}

TEST_CASE("bzip2: any number of calls with empty spans has no effect") {
  for (const decoder_sample& sample : small_samples()) check_empty_calls(make, sample);
}

TEST_CASE("bzip2: a decoder that is restarted at any stream behaves like a new one") {
  for (const decoder_sample& sample : small_samples()) check_restart(make, sample);
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

TEST_CASE("bzip2: input that is not bzip2 and data after the last stream have different errors") {
  CHECK(
      error_of(vector_of("plain text")) ==
      "is not bzip2 data: there is no bzip2 magic number at its start, at compressed offset 0, decompressed offset 0");
  CHECK(error_of(vector_of("BZh0")) ==
        "stream 1 is damaged (its header has an invalid block size) at compressed offset 4, decompressed offset 0");
  const byte_vector stream = bzip2_stream_of(sample_text(10));
  for (const std::string_view junk : {std::string_view("junk"), std::string_view("BZ junk"), std::string_view("\1")}) {
    CHECK(error_of(joined(stream, vector_of(junk))) ==
          "trailing data that is not bzip2 where stream 2 would begin, at compressed offset " +
              std::to_string(stream.size()) + ", decompressed offset 10");
  }
  CHECK(make()->missing_at_end(0) ==
        "is empty: there is no bzip2 stream at compressed offset 0, decompressed offset 0");
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
