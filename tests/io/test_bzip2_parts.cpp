// The contract of decoding ahead for bzip2 (tests/contract/part_contract.hpp), and inputs made against the search for
// blocks: false blocks inside data, blocks larger than their level, very small streams, very long text.
#include "io/bzip2/bzip2_decoder.hpp"
#include "io/bzip2/bzip2_parts.hpp"
#include "io/format.hpp"
#include "tests/contract/part_contract.hpp"
#include "tests/io/bzip2_encoder.hpp"
#include "tests/io/packed_samples.hpp"
#include "tests/io/zstd_samples.hpp"

#include <doctest/doctest.h>

#include <numeric>

using namespace gpuhist::test;

namespace {

const decoder_maker make = [] { return gpuhist::io::make_bzip2_decoder({}); };
const part_decoder_maker make_parts = [] { return gpuhist::io::make_bzip2_part_decoder(); };

decoder_sample sample_of(const char* name, const byte_vector& text, const byte_vector& packed) {
  decoder_sample sample{.name = name, .plain = {}, .packed = {}, .ends = {}, .clean_stops = {}};
  sample.add_frame(text, packed);
  return sample;
}

/// Five blocks of level 1.
byte_vector several_blocks() { return joined(sample_text(200'000), joined(noise(150'000), sample_text(100'000, 5))); }

/// How many blocks of `packed`, decoded as one part, begin at the bits of `begins`.
std::size_t blocks_at(const byte_vector& packed, std::span<const std::uint64_t> begins) {
  const std::vector<std::span<const std::byte>> pieces{packed};
  const auto decoded = make_parts()->decode({.offset = 0,
                                             .size = packed.size(),
                                             .pieces = pieces,
                                             .ends_input = true,
                                             .begins_frame = true,
                                             .max_bytes = std::size_t{1} << 30U});
  const auto* const part = dynamic_cast<const gpuhist::io::bzip2_part*>(decoded.get());
  if (part == nullptr) return 0;
  return static_cast<std::size_t>(
      std::ranges::count_if(begins, [part](std::uint64_t bit) { return part->find(bit) != nullptr; }));
}

/// A stream with a block whose data are these bytes: all code words have 8 bits, and the last byte, 255, ends the
/// block. `shift`: moves the data by so many bits (unused selectors, one bit each).
struct nested {
  byte_vector text;
  byte_vector packed;
};

nested block_of_data(std::vector<unsigned> data, unsigned shift) {
  data.push_back(255);
  bzip2_block_settings settings{
      .selectors_added = shift, .lengths = std::vector<std::uint8_t>(256, 8), .symbols = std::move(data)};
  for (unsigned letter = 0; letter < 254; ++letter) settings.letters.push_back(static_cast<std::uint8_t>(letter));
  const auto stream = [&settings](const byte_vector& text) {
    bzip2_stream_writer writer;
    writer.block(text, settings);
    return writer.finish();
  };
  nested made;
  made.text = ask_libbz2(stream({}), 1'000'000).text;  // libbz2 delivers it before it fails
  made.packed = stream(made.text);
  REQUIRE(ask_libbz2(made.packed, 1'000'000).is_valid);
  return made;
}

/// With the bytes of a whole, valid block, checksum included.
nested nested_block(unsigned shift) {
  bzip2_stream_writer inside;
  const std::uint64_t begin = inside.size_in_bits();
  inside.block(vector_of("false"), {.lengths = {3, 3, 3, 3, 3, 3, 3}});
  const byte_vector inner = inside.finish();
  std::vector<unsigned> symbols{9, 8, 7};
  for (std::size_t i = begin / 8; i < inner.size(); ++i) symbols.push_back(std::to_integer<unsigned>(inner[i]) % 255);
  REQUIRE(std::ranges::count(std::span(inner).subspan(begin / 8), std::byte{255}) == 0);
  return block_of_data(std::move(symbols), shift);
}

}  // namespace

TEST_CASE("bzip2 parts: inputs have the same text, ends and verdict with parts as without") {
  check_parts(make, make_parts, packed_sample_builder("level 1").bzip2(several_blocks(), 1).build());
  check_parts(make, make_parts,
              packed_sample_builder("levels")
                  .bzip2(several_blocks(), 9)
                  .bzip2({}, 5)
                  .bzip2(sample_text(300'000, 9), 2)
                  .bzip2(sample_text(10), 1)
                  .build());
  check_parts(make, make_parts, packed_sample_builder("nothing").bzip2({}).build());
  check_parts(make, make_parts, packed_sample_builder("empty input").build());
  check_parts(make, make_parts, packed_sample_builder("noise").bzip2(noise(300'000), 1).build());
}

TEST_CASE("bzip2 parts: one letter, 50 MB, is expanded only when it is taken over") {
  const byte_vector text(50'000'000, std::byte{'a'});
  const byte_vector packed = bzip2_stream_of(text, 9);
  check_same_with_parts(make, make_parts, packed, {.part_bytes = packed.size() + 1, .max_bytes = 4'000'000},
                        text.size());
  const std::array<std::uint64_t, 1> first{32};
  CHECK(blocks_at(packed, first) == 1);
}

TEST_CASE("bzip2 parts: every cut and every flipped bit of a small input gives the same with parts as without") {
  check_parts_of_damaged(make, make_parts,
                         packed_sample_builder("small").bzip2(sample_text(90), 1).bzip2(noise(20), 9).build());
}

TEST_CASE("bzip2 parts: cuts and flipped bits of a larger input give the same with parts as without") {
  check_parts_of_damaged(make, make_parts, packed_sample_builder("larger").bzip2(several_blocks(), 1).build(), 15);
}

TEST_CASE("bzip2 parts: all blocks are found, at any bit, and taken over") {
  std::vector<std::uint64_t> begins;
  bzip2_stream_writer writer;
  for (std::size_t i = 0; i < 40; ++i) {
    begins.push_back(writer.size_in_bits());
    writer.block(sample_text(20 + i, static_cast<std::uint32_t>(i)));
  }
  CHECK(blocks_at(writer.finish(), begins) == begins.size());
}

TEST_CASE("bzip2 parts: a valid block inside the data of another one is never taken for a block of the stream") {
  for (unsigned shift = 0; shift < 8; ++shift) {
    CAPTURE(shift);
    const nested made = nested_block(shift);
    const decoder_sample sample = sample_of("nested", made.text, made.packed);
    check_parts(make, make_parts, sample);
    if (shift == 0) check_parts_of_damaged(make, make_parts, sample);
    // a part that begins after the outer block finds the inner one
    const byte_vector rest(made.packed.begin() + 12, made.packed.end());
    std::vector<std::uint64_t> bits(8 * rest.size());
    std::iota(bits.begin(), bits.end(), 0);
    CHECK(blocks_at(rest, bits) == 1);
  }
}

TEST_CASE("bzip2 parts: data full of magic numbers, at any bit, is not taken for blocks") {
  std::vector<unsigned> data;
  for (std::uint32_t i = 0; i < 300; ++i) {
    for (const char each : std::string_view("1AY&SY")) data.push_back(static_cast<unsigned char>(each));
    for (const std::byte each : noise(i % 7, i)) data.push_back(std::to_integer<unsigned>(each) % 255);
  }
  for (unsigned shift = 0; shift < 8; ++shift) {
    CAPTURE(shift);
    const nested made = block_of_data(data, shift);
    check_parts(make, make_parts, sample_of("magic numbers", made.text, made.packed));
  }
}

TEST_CASE("bzip2 parts: a block that is larger than the level of its stream is refused with parts as without") {
  byte_vector packed = bzip2_stream_of(noise(150'000), 2);
  packed[3] = std::byte{'1'};
  check_same_with_parts(make, make_parts, packed, {.part_bytes = packed.size()}, 200'000);
  CHECK(decode_with_parts(make, make_parts, packed, {.part_bytes = packed.size()}, always(everything), 200'000).failed);
}

TEST_CASE("bzip2 parts: randomised blocks are taken over") {
  bzip2_stream_writer writer;
  const byte_vector text = sample_text(1900);
  writer.block(text, {.randomised = true});
  const byte_vector packed = writer.finish();
  check_parts(make, make_parts, sample_of("randomised", text, packed));
  const std::array<std::uint64_t, 1> first{32};
  CHECK(blocks_at(packed, first) == 1);
}

TEST_CASE("bzip2 parts: 100000 streams of a few bytes") {
  const byte_vector text = vector_of("tiny");
  const byte_vector stream = bzip2_stream_of(text, 9);
  byte_vector packed;
  byte_vector plain;
  constexpr std::size_t streams = 100'000;
  for (std::size_t i = 0; i < streams; ++i) {
    packed.insert(packed.end(), stream.begin(), stream.end());
    plain.insert(plain.end(), text.begin(), text.end());
  }
  const decoding got =
      decode_with_parts(make, make_parts, packed, {.part_bytes = packed.size() / 3, .look_ahead = 1000, .threads = 2},
                        always(everything), plain.size());
  CHECK(got.accepted());
  CHECK((got.plain == plain));
  CHECK(got.ends.size() == streams);
}

TEST_CASE("bzip2 parts: data made of false magic numbers is read in bounded time") {
  byte_vector packed = vector_of("BZh9");
  const byte_vector magic = vector_of("1AY&SY");
  while (packed.size() < 600'000) packed = joined(std::move(packed), magic);
  check_same_with_parts(make, make_parts, packed, {.part_bytes = packed.size()}, 1'000'000);
}
