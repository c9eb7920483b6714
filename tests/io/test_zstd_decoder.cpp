// The contract of decoders for zstd, and the properties of zstd alone: windows, dictionaries, skippable frames,
// messages.
#include "io/zstd/zstd_decoder.hpp"

#include "io/zstd/zstd_frame.hpp"
#include "tests/io/zstd_samples.hpp"
#include "tests/support/byte_vectors.hpp"

#include <doctest/doctest.h>

using namespace gpuhist::test;
using gpuhist::io::decoder_limits;
using gpuhist::io::fill_status;
using gpuhist::io::make_zstd_decoder;

namespace {

const decoder_maker make = [] { return make_zstd_decoder({}); };
const format_words words{"zstd", "frame"};

std::vector<decoder_sample> small_samples() {
  const zstd_settings bare{.checksum = false, .content_size = false};
  const zstd_settings sized{.checksum = false};
  const zstd_settings unsized{.content_size = false};
  std::vector<decoder_sample> samples;
  samples.push_back(zstd_sample_builder("one byte").frame(sample_text(1)).build());
  samples.push_back(zstd_sample_builder("nothing in four ways")
                        .frame({})
                        .frame({}, bare)
                        .frame({}, sized)
                        .frame({}, unsized)
                        .build());
  samples.push_back(zstd_sample_builder("text").frame(sample_text(700)).build());
  samples.push_back(zstd_sample_builder("noise, unsized, no checksum").frame(noise(300), bare).build());
  samples.push_back(zstd_sample_builder("a run").frame(byte_vector(5000, std::byte{'a'}), unsized).build());
  samples.push_back(zstd_sample_builder("frames of all kinds, skippable ones between")
                        .skippable(0)
                        .frame(sample_text(100, 2), bare)
                        .frame({})
                        .skippable(9, 15)
                        .frame(noise(70), unsized)
                        .frame(sample_text(1), sized)
                        .frame({}, bare)
                        .frame(byte_vector(300, std::byte{'b'}), {.level = 19})
                        .skippable(3)
                        .build());
  return samples;
}

/// Several blocks of 128 KiB per frame.
std::vector<decoder_sample> large_samples() {
  std::vector<decoder_sample> samples;
  byte_vector mixed = sample_text(200'000);
  const byte_vector random = noise(150'000);
  mixed.insert(mixed.end(), random.begin(), random.end());
  mixed.resize(mixed.size() + 140'000, std::byte{'z'});
  samples.push_back(zstd_sample_builder("blocks of all types").frame(mixed).build());
  samples.push_back(zstd_sample_builder("blocks of all types, unsized")
                        .frame(mixed, {.level = 1, .content_size = false})
                        .frame(sample_text(131'072), {.checksum = false, .content_size = false})
                        .build());
  samples.push_back(zstd_sample_builder("a small window that wraps")
                        .frame(sample_text(300'000, 5), {.level = 5, .window_log = 10})
                        .frame(mixed, {.content_size = false, .window_log = 12})
                        .build());
  samples.push_back(zstd_sample_builder("a long window")
                        .frame(sample_text(400'000, 6), {.content_size = false, .window_log = 27})
                        .build());
  return samples;
}

struct verdict {
  fill_status status;
  std::string error;
};

/// The error of one call for a complete input.
verdict fill_once(std::span<const std::byte> packed, const decoder_limits& limits = {}) {
  byte_vector out(1U << 16U);
  const auto decoder = make_zstd_decoder(limits);
  const fill_status status = decoder->fill(packed, out).status;
  return {.status = status, .error = status == fill_status::failed ? decoder->fault(0) : std::string()};
}

}  // namespace

TEST_CASE("zstd: the contract of decoders") { check_decoder(make, small_samples()); }

TEST_CASE("zstd: the contract of decoders, frames of several blocks") { check_decoder_of_large(make, large_samples()); }

TEST_CASE("zstd: other data and the number of a frame are reported") {
  check_foreign_data(make, words, zstd_frame_of(sample_text(10)), {"junk"});
  byte_vector frame = zstd_frame_of(sample_text(200));
  frame.back() ^= std::byte{1};
  check_numbering(make, words, frame, "Restored data doesn't match checksum", frame.size() - 4);
}

TEST_CASE("zstd: every level decodes to the original text") {
  const byte_vector plain = sample_text(150'000, 9);
  for (const int level : {-5, 1, 3, 9, 15, 19})
    check_cuts(make, zstd_sample_builder("a level").frame(plain, {.level = level}).build());
}

TEST_CASE("zstd: damage to a frame with checksum never makes other content accepted, for any cuts") {
  check_damage(make, zstd_sample_builder("text and noise").frame(sample_text(300)).frame(noise(40)).build());
  check_damage(make, zstd_sample_builder("unsized").frame(sample_text(200), {.content_size = false}).frame({}).build());
}

TEST_CASE("zstd: all text before an error in a later block is delivered, for any cuts") {
  const byte_vector plain = sample_text(300'000);
  for (const bool content_size : {true, false}) {
    byte_vector packed = zstd_frame_of(plain, {.content_size = content_size});
    const auto header = gpuhist::io::parse_zstd_header(packed).header;
    const std::size_t first = header.header_bytes;
    const auto at = [&](std::size_t i) { return std::to_integer<std::size_t>(packed[i]); };
    const std::size_t length = (at(first) | at(first + 1) << 8U | at(first + 2) << 16U) >> 3U;
    packed[first + 3 + length] |= std::byte{6};  // the type of the second block is reserved
    for_all_cuts(100'000, [&](const size_chooser& in, const size_chooser& out) {
      const decoding got = decode(make, packed, in, out, plain.size());
      CHECK(got.failed);
      CHECK(got.plain.size() == 131'072);
      CHECK(std::ranges::equal(got.plain, std::span(plain).first(got.plain.size())));
      CHECK_MESSAGE(got.error.find("decompressed offset 131072") != std::string::npos, got.error);
    });
  }
}

TEST_CASE("zstd: a wrong checksum is reported with frame number, cause and both offsets, after all its bytes") {
  const byte_vector first = zstd_frame_of(sample_text(500));
  byte_vector second = zstd_frame_of(sample_text(200));
  second.back() ^= std::byte{1};
  const byte_vector packed = joined(first, second);
  const decoding got = decode(make, packed, always(everything), always(everything), 700);
  CHECK(got.failed);
  CHECK(got.plain.size() == 700);
  CHECK(got.ends.size() == 1);
  CHECK(got.error == "frame 2 is damaged (Restored data doesn't match checksum) at compressed offset " +
                         std::to_string(packed.size() - 4) + ", decompressed offset 700");
}

TEST_CASE("zstd: a partial magic number at the end is a frame that ends early") {
  const byte_vector frame = zstd_frame_of(sample_text(10));
  for (std::size_t length = 1; length < 4; ++length) {
    const byte_vector packed =
        joined(frame, byte_vector(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(length)));
    const decoding got = decode(make, packed, always(everything), always(everything), 10);
    CHECK(got.missing == "frame 2 ends early: the input stops at compressed offset " + std::to_string(packed.size()) +
                             ", decompressed offset 10");
  }
}

TEST_CASE("zstd: an input of only skippable frames is complete") {
  CHECK(decode(make, skippable_frame(5), always(1), always(1), 0).accepted());
}

TEST_CASE("zstd: a window above the limit is refused at its header, one at the limit is not") {
  const byte_vector packed = zstd_frame_of(sample_text(10), {.content_size = false, .window_log = 27});
  const auto header = std::span(packed).first(gpuhist::io::parse_zstd_header(packed).header.header_bytes);
  const auto refused = fill_once(header, {.window_bytes = 96U << 20U});
  CHECK(refused.status == fill_status::failed);
  CHECK(refused.error ==
        "frame 1 needs a window of 128 MiB, more than the 96 MiB left of --memory-limit; give --memory-limit 128MiB or "
        "more, or --memory-limit none, at compressed offset 6, decompressed offset 0");
  CHECK(fill_once(packed, {.window_bytes = 128U << 20U}).status == fill_status::frame_verified);
}

TEST_CASE("zstd: a window above the granted size is requested before it is allocated") {
  const byte_vector wide = zstd_frame_of(sample_text(300), {.content_size = false, .window_log = 27});
  const byte_vector packed = joined(zstd_frame_of(sample_text(10)), wide);
  const auto decoder = make_zstd_decoder({.window_bytes = 128U << 20U, .granted_bytes = 1U << 20U});
  byte_vector out(400);
  std::size_t at = decoder->fill(packed, out).consumed;
  for (int again = 0; again < 2; ++again) {  // a repeated request changes nothing
    const auto got = decoder->fill(std::span(packed).subspan(at), out);
    CHECK(got.status == fill_status::needs_window);
    CHECK(got.produced == 0);
    at += got.consumed;
  }
  CHECK(decoder->window_wanted() == 128U << 20U);
  decoder->grant_window(128U << 20U);
  const auto got = decoder->fill(std::span(packed).subspan(at), out);
  CHECK(got.status == fill_status::frame_verified);
  CHECK(got.produced == 300);
}

TEST_CASE("zstd: a large window around little content needs no more than the content") {
  // magic number, 8 bytes of content size, a window of 2 GiB, one raw block "abc"
  const std::string_view frame(
      "\x28\xB5\x2F\xFD\xC0\xA8\x03\0\0\0\0\0\0\0\x19\0\0"
      "abc",
      20);
  CHECK(fill_once(vector_of(frame), {.window_bytes = 1024}).status == fill_status::frame_verified);
}

TEST_CASE("zstd: a window that no memory limit allows has an error of its own") {
  const std::string_view header("\x28\xB5\x2F\xFD\x00\xFF", 6);
  const auto result = fill_once(vector_of(header), {.window_bytes = std::uint64_t{1} << 50U});
  CHECK(result.status == fill_status::failed);
  CHECK_MESSAGE(result.error.find("that zstd can decode") != std::string::npos, result.error);
}

TEST_CASE("zstd: a frame that needs a dictionary names its ID") {
  const std::string_view header("\x28\xB5\x2F\xFD\x02\x50\x34\x12", 8);
  const auto result = fill_once(vector_of(header));
  CHECK(result.status == fill_status::failed);
  CHECK(result.error ==
        "frame 1 needs dictionary 4660; give the file that holds it with --zstd-dictionary, at compressed offset 8, "
        "decompressed offset 0");
}

TEST_CASE("zstd: the reserved bit of a header is an error") {
  CHECK(fill_once(vector_of(std::string_view("\x28\xB5\x2F\xFD\x08", 5))).status == fill_status::failed);
}
