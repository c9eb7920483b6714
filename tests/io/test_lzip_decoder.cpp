// The contract of decoders for lzip and .lzma, and the properties of these formats alone: versions, dictionaries, no
// magic number.
#include "io/xz/lzip_decoder.hpp"

#include "tests/io/packed_samples.hpp"
#include "tests/io/zstd_samples.hpp"
#include "tests/support/byte_vectors.hpp"

#include <doctest/doctest.h>

using namespace gpuhist::test;
using gpuhist::io::fill_status;
using gpuhist::io::make_lzip_decoder;
using gpuhist::io::make_lzma_decoder;

namespace {

const decoder_maker make_lzip = [] { return make_lzip_decoder({}); };
const decoder_maker make_lzma = [] { return make_lzma_decoder({}); };

std::vector<decoder_sample> lzip_samples() {
  std::vector<decoder_sample> samples;
  samples.push_back(packed_sample_builder("one byte").lzip(sample_text(1)).build());
  samples.push_back(packed_sample_builder("nothing, twice").lzip({}).lzip({}).build());
  samples.push_back(packed_sample_builder("text").lzip(sample_text(400)).build());
  samples.push_back(packed_sample_builder("members")
                        .lzip(sample_text(100, 2))
                        .lzip(noise(70), 20)
                        .lzip({})
                        .lzip(byte_vector(300, std::byte{'b'}), 16 + (3U << 5U))
                        .build());
  return samples;
}

std::vector<decoder_sample> lzma_samples() {
  std::vector<decoder_sample> samples;
  for (const bool sized : {false, true}) {
    const auto add = [&](const char* name, const byte_vector& plain) {
      samples.push_back(packed_sample_builder(name).frame(plain, lzma_stream_of(plain, sized)).build());
    };
    add("nothing", {});
    add("one byte", sample_text(1));
    add("text", sample_text(400));
    add("a run", byte_vector(3000, std::byte{'c'}));
  }
  return samples;
}

byte_vector mixed_text() { return joined(sample_text(90'000), noise(70'000)); }

std::string error_of(const decoder_maker& make, const byte_vector& packed) {
  return decode_at_once(make, packed).error;
}

}  // namespace

TEST_CASE("lzip: the contract of decoders") {
  check_decoder(make_lzip, lzip_samples());
  check_decoder_of_large(make_lzip, {packed_sample_builder("large").lzip(mixed_text()).lzip(mixed_text(), 20).build()});
}

TEST_CASE("lzma: the contract of decoders") {
  check_decoder(make_lzma, lzma_samples());
  for (const bool sized : {false, true}) {
    const byte_vector packed = lzma_stream_of(mixed_text(), sized);
    check_decoder_of_large(make_lzma, {packed_sample_builder("large").frame(mixed_text(), packed).build()});
  }
}

TEST_CASE("lzip: other data is reported") {
  check_foreign_data(make_lzip, {"lzip", "member"}, lzip_member_of(sample_text(10)), {"junk", "LZ junk", "\1"});
}

TEST_CASE("lzip: damage never makes other content accepted, for any cuts of input and output") {
  check_damage(make_lzip, packed_sample_builder("text and noise").lzip(sample_text(200)).lzip(noise(20)).build());
}

TEST_CASE("lzip: all text before a wrong checksum is delivered, for any output size, and then the error") {
  const byte_vector plain = mixed_text();
  byte_vector packed = lzip_member_of(plain);
  packed[packed.size() - 20] ^= std::byte{1};
  for_all_cuts(100'000, [&](const size_chooser& in, const size_chooser& out) {
    const decoding got = decode(make_lzip, packed, in, out, plain.size());
    CHECK(got.failed);
    CHECK(got.plain == plain);
    CHECK_MESSAGE(got.error.starts_with("member 1 is damaged (its data does not decode, or does not match its checksum "
                                        "or sizes) at compressed offset "),
                  got.error);
    CHECK_MESSAGE(got.error.ends_with(", decompressed offset 160000"), got.error);
  });
}

TEST_CASE("lzip: unknown versions and invalid dictionary sizes are refused at the header") {
  byte_vector packed = lzip_member_of(sample_text(10));
  packed[4] = std::byte{2};
  CHECK(error_of(make_lzip, packed) ==
        "member 1 is of version 2 of the lzip format, which liblzma does not know, at compressed offset 6, "
        "decompressed offset 0");
  packed[4] = std::byte{1};
  for (const unsigned code : {0U, 11U, 30U, 12U + (1U << 5U)}) {
    packed[5] = static_cast<std::byte>(code);
    CHECK(error_of(make_lzip, packed) ==
          "member 1 is damaged (its header has an invalid dictionary size) at compressed offset 6, "
          "decompressed offset 0");
  }
}

TEST_CASE("lzip: a dictionary above the limit is refused at the header, and requested above the granted size") {
  const byte_vector packed = lzip_member_of(sample_text(10), 26 + (4U << 5U));  // 64 MiB minus a quarter
  byte_vector out(100);
  const auto refusing = make_lzip_decoder({.window_bytes = 47U << 20U});
  CHECK(refusing->fill(packed, out).status == fill_status::failed);
  CHECK(refusing->fault(0) ==
        "member 1 needs a window of 48 MiB, more than the 47 MiB left of --memory-limit; give --memory-limit 48MiB or "
        "more, or --memory-limit none, at compressed offset 6, decompressed offset 0");
  const auto asking = make_lzip_decoder({.window_bytes = 48U << 20U, .granted_bytes = 1U << 20U});
  const auto asked = asking->fill(packed, out);
  CHECK(asked.status == fill_status::needs_window);
  CHECK(asking->window_wanted() == 48U << 20U);
  asking->grant_window(48U << 20U);
  CHECK(asking->fill(std::span(packed).subspan(asked.consumed), out).status == fill_status::frame_verified);
}

TEST_CASE("lzma: a header that no encoder writes is refused, and so is data after the stream") {
  CHECK(error_of(make_lzma, vector_of("plain text that is long enough")) ==
        "is not lzma data: it does not begin with a header that encoders write, at compressed offset 13, "
        "decompressed offset 0");
  const byte_vector stream = lzma_stream_of(sample_text(100), false);
  for (const auto& [place, value] : {std::pair{0U, 225U}, {1U, 1U}, {4U, 7U}, {12U, 0U}}) {
    byte_vector odd = stream;
    odd[place] = static_cast<std::byte>(value);
    CHECK_MESSAGE(error_of(make_lzma, odd).starts_with("is not lzma data"), place);
  }
  for (const byte_vector& more : {stream, vector_of("x")}) {
    CHECK(error_of(make_lzma, joined(stream, more)) ==
          "trailing data after the end of the stream, at compressed offset " + std::to_string(stream.size()) +
              ", decompressed offset 100");
  }
}
