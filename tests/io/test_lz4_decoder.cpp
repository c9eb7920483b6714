// The contract of decoders for lz4, and the properties of lz4 alone: block sizes, skippable and legacy frames,
// messages; its checksum against published values and against the checksums that liblz4 writes.
#include "io/frame_magic.hpp"
#include "io/lz4/lz4_decoder.hpp"
#include "io/lz4/xxh32.hpp"

#include "tests/io/lz4_samples.hpp"
#include "tests/io/zstd_samples.hpp"
#include "tests/support/byte_vectors.hpp"

#include <doctest/doctest.h>

using namespace gpuhist::test;
using gpuhist::io::fill_status;
using gpuhist::io::make_lz4_decoder;
using gpuhist::io::xxh32;

namespace {

const decoder_maker make = [] { return make_lz4_decoder({}); };
const format_words words{"lz4", "frame"};

constexpr lz4_settings all_checks{
    .linked_blocks = true, .block_checksums = true, .content_checksum = true, .content_size = true};
constexpr lz4_settings no_checks{.content_checksum = false};

std::vector<decoder_sample> small_samples() {
  std::vector<decoder_sample> samples;
  samples.push_back(lz4_sample_builder("one byte").frame(sample_text(1)).build());
  samples.push_back(
      lz4_sample_builder("nothing, in three ways").frame({}).frame({}, no_checks).frame({}, all_checks).build());
  samples.push_back(lz4_sample_builder("text").frame(sample_text(700)).build());
  samples.push_back(lz4_sample_builder("all that can be checked").frame(sample_text(600), all_checks).build());
  samples.push_back(lz4_sample_builder("no checksum").frame(sample_text(300), no_checks).build());
  samples.push_back(lz4_sample_builder("a stored block")
                        .frame(noise(300), {.block_checksums = true})
                        .frame(noise(200), no_checks)
                        .build());
  samples.push_back(lz4_sample_builder("frames of all kinds")
                        .skippable(0)
                        .frame(sample_text(100, 2), all_checks)
                        .skippable(9, 15)
                        .frame({})
                        .frame(byte_vector(300, std::byte{'b'}), {.block_size = LZ4F_max4MB, .level = 9})
                        .skippable(3)
                        .build());
  return samples;
}

std::vector<decoder_sample> legacy_samples() {
  std::vector<decoder_sample> samples;
  samples.push_back(lz4_sample_builder("nothing").legacy_magic().build());
  samples.push_back(lz4_sample_builder("legacy, two blocks, then others")
                        .legacy_magic()
                        .legacy_block(sample_text(300))
                        .legacy_block(noise(50))
                        .legacy_magic()
                        .legacy_block(sample_text(1))
                        .frame(sample_text(100))
                        .skippable(5)
                        .legacy_magic()
                        .legacy_block(sample_text(40, 3))
                        .skippable(2)
                        .build());
  return samples;
}

/// Text, noise and a run: blocks of both kinds, and matches across blocks.
byte_vector mixed_text() {
  byte_vector mixed = joined(joined(sample_text(100'000), noise(80'000)), sample_text(60'000));
  mixed.resize(mixed.size() + 90'000, std::byte{'z'});
  return mixed;
}

std::vector<decoder_sample> large_samples() {
  const byte_vector mixed = mixed_text();
  lz4_settings one_block = no_checks;
  one_block.block_size = LZ4F_max1MB;
  std::vector<decoder_sample> samples;
  samples.push_back(lz4_sample_builder("blocks by themselves").frame(mixed).build());
  samples.push_back(lz4_sample_builder("linked blocks, all checks").frame(mixed, all_checks).build());
  samples.push_back(lz4_sample_builder("one block, then several")
                        .frame(mixed, one_block)
                        .frame(mixed, {.block_size = LZ4F_max256KB, .linked_blocks = true, .level = 9})
                        .build());
  return samples;
}

std::string error_of(const byte_vector& packed) { return decode_at_once(make, packed).error; }

}  // namespace

TEST_CASE("lz4: the contract of decoders") {
  check_decoder(make, small_samples());
  for (const decoder_sample& sample : legacy_samples()) {  // a decoder is not restarted within a legacy frame
    check_cuts(make, sample);
    check_truncations(make, sample);
    check_exact_room(make, sample);
    check_empty_calls(make, sample);
  }
}

TEST_CASE("lz4: the contract of decoders, frames of many blocks") { check_decoder_of_large(make, large_samples()); }

TEST_CASE("lz4: other data and the number of a frame are reported") {
  const byte_vector legacy = joined(lz4_legacy_magic(), lz4_legacy_block_of(sample_text(10)));
  check_foreign_data(make, words, lz4_frame_of(sample_text(10)), {"junk", "\x04junk", std::string_view("\0", 1)});
  check_foreign_data(make, words, legacy, {"junk"});
  byte_vector frame = lz4_frame_of(sample_text(200));
  frame.back() ^= std::byte{1};
  check_numbering(make, words, frame, "its text does not match its checksum", frame.size());
}

TEST_CASE("lz4: cuts change nothing in a legacy frame of many blocks") {
  const byte_vector large = joined(mixed_text(), joined(sample_text(7'000'000), mixed_text()));
  const decoder_sample legacy =
      lz4_sample_builder("a legacy block").legacy_magic().legacy_block(large).legacy_block(sample_text(9)).build();
  for (const std::size_t room : {std::size_t{100'000}, everything}) {
    const decoding got = decode(make, legacy.packed, always(60'001), always(room), legacy.plain.size());
    CHECK_MESSAGE(got.accepted(), got.error, got.missing);
    CHECK(got.plain == legacy.plain);
    CHECK(got.ends == legacy.ends);
  }
}

TEST_CASE("lz4: damage never makes other content accepted, for any cuts of input and output") {
  check_damage(make, lz4_sample_builder("text and noise").frame(sample_text(300)).frame(noise(40)).build());
  check_damage(make, lz4_sample_builder("all checks").frame(sample_text(200), all_checks).frame({}).build());
}

TEST_CASE("lz4: all text before an error is delivered, for any output size") {
  const byte_vector plain = mixed_text();
  byte_vector packed = lz4_frame_of(plain, {.block_checksums = true});
  packed[packed.size() - 10] ^= std::byte{1};  // the checksum of the last block, after full blocks of 64 KiB
  const std::size_t whole = plain.size() / 65'536 * 65'536;
  for_all_cuts(100'000, [&](const size_chooser& in, const size_chooser& out) {
    const decoding got = decode(make, packed, in, out, plain.size());
    CHECK(got.failed);
    CHECK(got.plain.size() == whole);
    CHECK(begin_alike(got.plain, plain));
    CHECK_MESSAGE(got.error.starts_with("frame 1 is damaged (a block does not match its checksum) at compressed"),
                  got.error);
    CHECK_MESSAGE(got.error.ends_with(", decompressed offset " + std::to_string(whole)), got.error);
  });
}

TEST_CASE("lz4: an error is reported with frame, cause and both offsets") {
  const byte_vector first = lz4_frame_of(sample_text(500));
  byte_vector second = lz4_frame_of(sample_text(200));
  second.back() ^= std::byte{1};
  CHECK(error_of(joined(first, second)) ==
        "frame 2 is damaged (its text does not match its checksum) at compressed offset " +
            std::to_string(first.size() + second.size()) + ", decompressed offset 700");
  byte_vector header = lz4_frame_of(sample_text(200));
  header[6] ^= std::byte{1};
  CHECK(error_of(header) ==
        "frame 1 is damaged (its header does not match its checksum) at compressed offset 7, decompressed offset 0");
  byte_vector sized = lz4_frame_of(sample_text(200), all_checks);
  CHECK(error_of(vector_of(std::string_view("\x04\x22\x4D\x18\x24\x40", 6)))
            .starts_with("frame 1 is damaged (its header states another version than 1) at compressed offset 6,"));
  CHECK(error_of(vector_of(std::string_view("\x04\x22\x4D\x18\x66\x40", 6)))
            .starts_with("frame 1 is damaged (its header has reserved bits set)"));
  CHECK(error_of(vector_of(std::string_view("\x04\x22\x4D\x18\x64\x30", 6)))
            .starts_with("frame 1 is damaged (its header has an invalid block size)"));
}

TEST_CASE("lz4: a frame that needs a dictionary is refused") {
  const byte_vector packed = lz4_frame_of(sample_text(200), {.dictionary_id = 77});
  CHECK(error_of(packed) ==
        "frame 1 needs dictionary 77, and gpuhist takes no dictionaries for lz4, at compressed offset 11, "
        "decompressed offset 0");
}

TEST_CASE("lz4: blocks above the memory limit are refused at their header, and requested above the granted size") {
  const byte_vector packed = lz4_frame_of(sample_text(10), {.block_size = LZ4F_max4MB});
  byte_vector out(100);
  const auto refusing = make_lz4_decoder({.window_bytes = 6U << 20U});
  CHECK(refusing->fill(std::span(packed).first(7), out).status == fill_status::failed);
  CHECK(refusing->fault(0) ==
        "frame 1 needs a window of 8 MiB, more than the 6 MiB left of --memory-limit; give --memory-limit 8MiB or "
        "more, or --memory-limit none, at compressed offset 7, decompressed offset 0");
  const auto asking = make_lz4_decoder({.window_bytes = 8U << 20U, .granted_bytes = 1U << 20U});
  const auto asked = asking->fill(packed, out);
  CHECK(asked.status == fill_status::needs_window);
  CHECK(asking->window_wanted() == 8U << 20U);
  asking->grant_window(8U << 20U);
  const auto got = asking->fill(std::span(packed).subspan(asked.consumed), out);
  CHECK(got.status == fill_status::frame_verified);
  CHECK(got.produced == 10);

  const byte_vector legacy = joined(lz4_legacy_magic(), lz4_legacy_block_of(sample_text(10)));
  const auto small = make_lz4_decoder({.window_bytes = 4U << 20U});
  CHECK(small->fill(legacy, out).status == fill_status::failed);
  CHECK_MESSAGE(small->fault(0).starts_with("frame 1 needs a window of "), small->fault(0));
}

TEST_CASE("lz4: a legacy block that does not decode or is empty is damaged") {
  byte_vector legacy = joined(lz4_legacy_magic(), lz4_legacy_block_of(sample_text(100)));
  const byte_vector good = legacy;
  legacy.resize(legacy.size() + 4);
  CHECK(error_of(legacy) == "frame 2 is damaged (an empty legacy block) at compressed offset " +
                                std::to_string(legacy.size()) + ", decompressed offset 100");
  byte_vector damaged = good;
  for (std::size_t i = 8; i < damaged.size(); ++i) damaged[i] = std::byte{0xFF};
  CHECK(error_of(damaged).starts_with("frame 1 is damaged (its legacy block does not decode) at compressed offset "));
}

TEST_CASE("xxh32: the published values") {
  CHECK(xxh32::of({}) == 0x02CC5D05U);
  CHECK(xxh32::of(vector_of("a")) == 0x550D7456U);
  CHECK(xxh32::of(vector_of("abc")) == 0x32D153FFU);
}

TEST_CASE("xxh32: the checksum that liblz4 writes at the end of a frame, for every length and every cut") {
  for (std::size_t length = 0; length < 100; ++length) {
    CAPTURE(length);
    const byte_vector text = noise(length);
    const byte_vector frame = lz4_frame_of(text);
    const auto expected = static_cast<std::uint32_t>(gpuhist::io::little_endian(std::span(frame).last(4)));
    CHECK(xxh32::of(text) == expected);
    for (std::size_t cut = 0; cut <= length; ++cut) {
      xxh32 sum;
      sum.add(std::span(text).first(cut));
      sum.add(std::span(text).subspan(cut));
      CHECK(sum.value() == expected);
    }
    xxh32 by_bytes;
    for (const std::byte& each : text) by_bytes.add({&each, 1});
    CHECK(by_bytes.value() == expected);
  }
}
