// The contract of decoding ahead for bzip2 (tests/contract/part_contract.hpp), and inputs made against the search for
// blocks: false blocks inside data, blocks larger than their level, very small streams, very long text. bzip2 compared
// with libbz2: blocks that today's compressors do not write (randomised ones, unusual codes, wrong fields), and random
// inputs. Decoding in parts is compared with the decoder alone, positions of magic numbers with a search bit by bit.
// FUZZ_RUNS and FUZZ_SEED: see tests/support/campaign.hpp.
#include "io/bzip2/bzip2_decoder.hpp"
#include "io/bzip2/bzip2_parts.hpp"
#include "io/bzip2/bzip2_search.hpp"
#include "io/format.hpp"

#include "tests/contract/decoder_contract.hpp"
#include "tests/contract/part_contract.hpp"
#include "tests/io/bzip2_encoder.hpp"
#include "tests/io/packed_samples.hpp"
#include "tests/io/part_fuzz.hpp"
#include "tests/io/zstd_samples.hpp"
#include "tests/support/campaign.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <random>

using namespace gpuhist::test;
using gpuhist::io::bzip2_pieces;
using gpuhist::io::find_bzip2_block;

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

namespace {

byte_vector stream_of(const byte_vector& text, const bzip2_block_settings& settings, char level = '1') {
  bzip2_stream_writer writer(level);
  writer.block(text, settings);
  return writer.finish();
}

/// Checks that the verdict and the text are those of libbz2. Returns whether the stream was accepted.
bool accepts_as_libbz2(const byte_vector& packed) {
  const bzip2_verdict expected = ask_libbz2(packed, std::size_t{1} << 20U);
  const decoding got = decode_at_once(make, packed);
  CHECK(got.accepted() == expected.is_valid);
  if (expected.is_valid) CHECK((got.plain == expected.text));
  return got.accepted();
}

}  // namespace

TEST_CASE("bzip2 blocks: the encoder of these tests writes what libbz2 reads") {
  const byte_vector text = joined(sample_text(900), byte_vector(700, std::byte{'x'}));
  CHECK(accepts_as_libbz2(stream_of(text, {})));
  CHECK(decode_at_once(make, stream_of(text, {})).plain == text);
}

TEST_CASE("bzip2 blocks: a randomised block gives its text, for all cuts") {
  const byte_vector text = joined(sample_text(1500), byte_vector(300, std::byte{'x'}));
  const byte_vector packed = stream_of(text, {.randomised = true});
  CHECK(accepts_as_libbz2(packed));
  decoder_sample sample{.name = "randomised", .plain = {}, .packed = {}, .ends = {}, .clean_stops = {}};
  sample.add_frame(text, packed);
  check_cuts(make, sample);
  check_truncations(make, sample);
}

TEST_CASE("bzip2 blocks: codes with long words, and of which not all words are used, are decoded") {
  const byte_vector text = vector_of("abracadabra, abracadabra");
  const std::size_t symbols = 8 + 1;  // a b c d r, comma and space, two run symbols less one, the end
  std::vector<std::uint8_t> lengths(symbols, 20);
  CHECK(accepts_as_libbz2(stream_of(text, {.lengths = lengths})));
  for (std::size_t i = 0; i < symbols; ++i) lengths[i] = static_cast<std::uint8_t>(i + 2);
  CHECK(accepts_as_libbz2(stream_of(text, {.codes = 6, .lengths = lengths})));
}

TEST_CASE("bzip2 blocks: more symbols than code words of their length are decoded as by libbz2") {
  const byte_vector text = vector_of("aaab");
  // a, b: symbols 0 and 1 are runs, 2 is b or a, 3 the end; five words of one and two bits
  for (unsigned variant = 0; variant < 81; ++variant) {
    std::vector<std::uint8_t> lengths;
    for (unsigned rest = variant, i = 0; i < 4; ++i, rest /= 3)
      lengths.push_back(static_cast<std::uint8_t>(1 + rest % 3));
    CAPTURE(variant);
    accepts_as_libbz2(stream_of(text, {.lengths = lengths}));
  }
}

TEST_CASE("bzip2 blocks: wrong fields are refused, and unused selectors accepted, as by libbz2") {
  const byte_vector text = sample_text(120);
  CHECK(accepts_as_libbz2(stream_of(text, {.selectors_added = 20'000})));
  CHECK_FALSE(accepts_as_libbz2(stream_of(text, {.origin_change = 1})));
  CHECK_FALSE(accepts_as_libbz2(stream_of(text, {.origin_change = 1000})));
  CHECK_FALSE(accepts_as_libbz2(stream_of(text, {.origin_change = 100'100})));
  CHECK_FALSE(accepts_as_libbz2(stream_of(text, {.crc_change = 1})));
  CHECK_FALSE(accepts_as_libbz2(stream_of(text, {.codes = 1})));
  CHECK_FALSE(accepts_as_libbz2(stream_of(text, {.codes = 7})));
  bzip2_stream_writer writer;
  writer.block(text);
  CHECK_FALSE(accepts_as_libbz2(writer.finish(1)));
}

TEST_CASE("bzip2 blocks: a block is as large as its level allows, and not larger") {
  for (const std::size_t size : {std::size_t{99'995}, std::size_t{100'000}, std::size_t{100'005}}) {
    CAPTURE(size);
    // one letter, and a run of it: its text has 11 bytes for each 5 of the block
    std::vector<unsigned> symbols;
    for (std::size_t length = size; length > 0; length = (length - 1) / 2) symbols.push_back(length % 2 == 1 ? 0 : 1);
    symbols.push_back(2);
    const byte_vector block = stream_of({}, {.symbols = symbols, .letters = {7}});
    const bzip2_verdict asked = ask_libbz2(block, std::size_t{8} << 20U);
    CHECK(asked.text.empty() == (size > 100'000));
    const auto text = asked.text;
    const byte_vector packed = stream_of(text, {.symbols = symbols, .letters = {7}});
    const bzip2_verdict expected = ask_libbz2(packed, std::size_t{8} << 20U);
    const decoding got = decode(make, packed, always(everything), always(everything), std::size_t{8} << 20U);
    CHECK(got.accepted() == expected.is_valid);
    if (expected.is_valid) CHECK((got.plain == expected.text));
  }
}

TEST_CASE("bzip2 blocks: any bytes are decoded as a last column, as by libbz2, also those that no block has") {
  // their rows are several cycles, of which the text is one, repeated
  std::mt19937 random(5);
  unsigned accepted = 0;
  for (unsigned trial = 0; trial < 24; ++trial) {
    CAPTURE(trial);
    const auto letters = static_cast<unsigned>(trial % 3 == 0 ? 2 : 2 + random() % 60);
    bzip2_block_settings settings;
    for (unsigned i = 0; i < letters; ++i) settings.letters.push_back(static_cast<std::uint8_t>(3 * i));
    const std::size_t size = trial < 4 ? 1 + trial : random() % 90'000;
    const bool is_periodic = trial % 4 == 1;
    for (std::size_t i = 0; i < size; ++i) {
      settings.symbols.push_back(is_periodic ? 2 : static_cast<unsigned>(2 + random() % (letters - 1)));
    }
    settings.symbols.push_back(letters + 1);
    const byte_vector text = ask_libbz2(stream_of({}, settings), std::size_t{8} << 20U).text;
    const byte_vector packed = stream_of(text, settings);
    const bzip2_verdict expected = ask_libbz2(packed, std::size_t{8} << 20U);
    const decoding got = decode(make, packed, always(everything), always(everything), std::size_t{8} << 20U);
    CHECK(got.accepted() == expected.is_valid);
    if (!expected.is_valid) continue;
    CHECK((got.plain == expected.text));
    ++accepted;
  }
  CHECK(accepted > 12);
}

TEST_CASE("bzip2 blocks: four equal bytes at the end of a block, without the number of further ones, are refused") {
  // "aaaa" as the last column: a run of four, then the end
  const std::vector<unsigned> symbols{1, 0, 2};
  for (const char* text : {"aaaa", "aaaaaaaa"}) {
    CHECK_FALSE(accepts_as_libbz2(stream_of(vector_of(text), {.symbols = symbols, .letters = {'a'}})));
  }
}

namespace {

constexpr std::size_t most_text = std::size_t{1} << 17U;

/// A block whose fields are chosen at random, within and beyond what is valid.
byte_vector random_block(std::mt19937& random) {
  const byte_vector text = random() % 2 == 0 ? noise(1 + random() % 8, static_cast<std::uint32_t>(random()))
                                             : sample_text(1 + random() % 90, static_cast<std::uint32_t>(random()));
  bzip2_block_settings settings{.randomised = random() % 8 == 0};
  if (random() % 4 == 0) settings.origin_change = static_cast<std::int64_t>(random() % 5) - 2;
  if (random() % 8 == 0) settings.codes = static_cast<unsigned>(random() % 8);
  if (random() % 4 == 0) settings.selectors_added = static_cast<unsigned>(random() % 40);
  const auto shortest = static_cast<std::uint8_t>(1 + random() % 8);
  if (random() % 2 == 0) {
    for (unsigned i = 0; i < 258; ++i) settings.lengths.push_back(static_cast<std::uint8_t>(shortest + random() % 6));
  }
  bzip2_stream_writer writer('1');
  writer.block(text, settings);
  return writer.finish(random() % 16 == 0 ? 1 : 0);
}

byte_vector random_stream(std::mt19937& random) {
  const auto seed = static_cast<std::uint32_t>(random());
  switch (random() % 5) {
    case 0:
      return bzip2_stream_of(noise(random() % 60, seed), 1);
    case 1:
      return joined(vector_of("BZh11AY&SY"), noise(random() % 300, seed));
    case 2:
      return bzip2_stream_of(sample_text(random() % 900, seed), 1 + static_cast<int>(random() % 9));
    default:
      return random_block(random);
  }
}

/// One to three streams of one to four blocks each, most of them valid.
byte_vector random_streams(std::mt19937& random) {
  byte_vector packed;
  for (auto streams = 1 + random() % 3; streams > 0; --streams) {
    if (random() % 4 == 0) {
      packed = joined(std::move(packed), random_stream(random));
      continue;
    }
    bzip2_stream_writer writer(static_cast<char>('1' + random() % 9));
    for (auto blocks = 1 + random() % 4; blocks > 0; --blocks) {
      writer.block(sample_text(1 + random() % 60, static_cast<std::uint32_t>(random())),
                   {.randomised = random() % 8 == 0});
    }
    packed = joined(std::move(packed), writer.finish());
  }
  return packed;
}

void check_as_libbz2(gpuhist::io::decoder& decoder, const byte_vector& packed, std::size_t run) {
  const bzip2_verdict expected = ask_libbz2(packed, most_text);
  const auto once = std::span(packed).first(expected.is_valid ? expected.packed_bytes : packed.size());
  decoder.restart({});
  const size_chooser cut = run % 2 == 0 ? always(everything) : sometimes(50, static_cast<std::uint32_t>(run));
  const decoding got = decode(decoder, once, cut, cut, most_text);
  const bool accepted = got.accepted() && got.ends.size() == 1;
  if (accepted != expected.is_valid) FAIL("run ", run, ": ", got.error, got.missing);
  if (accepted && got.plain != expected.text) FAIL("run ", run, ": other text");
}

/// Where the magic number begins, at or after `from`: the search that cannot be wrong.
std::optional<std::uint64_t> search_obviously(const byte_vector& bytes, std::uint64_t limit, std::uint64_t from) {
  std::uint64_t window = 0;
  for (std::uint64_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    const auto byte = std::to_integer<std::uint64_t>(bytes[bit / 8]);
    window = (window << 1U | (byte >> (7U - bit % 8) & 1U)) & 0xFFFFFFFFFFFFU;
    if (window == 0x314159265359U && bit >= 47 + from && bit - 47 < limit) return bit - 47;
  }
  return std::nullopt;
}

/// Bytes with magic numbers, damaged magic numbers and noise, at any bits.
byte_vector random_haystack(std::mt19937& random) {
  bit_writer out;
  const auto parts = random() % 5;
  for (unsigned i = 0; i < parts; ++i) {
    const auto gap = static_cast<unsigned>(random() % 64);
    out.put(static_cast<std::uint64_t>(random()) << 32U | random(), gap);
    const std::uint64_t damaged = random() % 3 == 0 ? std::uint64_t{1} << (random() % 48) : 0;
    out.put(0x314159265359U ^ damaged, 48);
  }
  out.put(static_cast<std::uint64_t>(random()), static_cast<unsigned>(random() % 32));
  return out.bytes();
}

std::vector<std::span<const std::byte>> random_pieces(const byte_vector& bytes, std::mt19937& random) {
  std::vector<std::span<const std::byte>> pieces;
  const std::size_t largest = 1 + random() % 20;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t size = std::min<std::size_t>(random() % (largest + 1), bytes.size() - at);
    pieces.push_back(std::span(bytes).subspan(at, size));
    at += size;
  }
  return pieces;
}

}  // namespace

TEST_CASE("bzip2 fuzz: exactly those streams are accepted that libbz2 accepts, with the same text") {
  std::mt19937 random(fuzz_seed(1));
  const auto decoder = gpuhist::io::make_bzip2_decoder({});
  byte_vector whole;
  const std::size_t runs = fuzz_runs(30'000);
  for (std::size_t run = 0; run < runs; ++run) {
    if (run % 8 == 0) whole = random_stream(random);
    byte_vector packed = whole;
    if (run % 8 != 0) damage(packed, random, 8);
    check_as_libbz2(*decoder, packed, run);
  }
}

TEST_CASE("bzip2 fuzz: damaged streams have the same results with parts as without") {
  std::mt19937 random(fuzz_seed(2));
  part_fuzzer fuzzer([] { return gpuhist::io::make_bzip2_decoder({}); }, gpuhist::io::make_bzip2_part_decoder);
  byte_vector whole;
  const std::size_t runs = fuzz_runs(10'000);
  for (std::size_t run = 0; run < runs; ++run) {
    if (run % 32 == 0) whole = random_streams(random);
    byte_vector packed = whole;
    if (run % 4 != 0) damage(packed, random, 8);
    if (packed.empty()) continue;
    const part_shape shape{.part_bytes = 1 + random() % packed.size(), .look_ahead = random() % packed.size()};
    const auto both = fuzzer.decode(packed, shape, most_text);
    const decoding& alone = both.alone;
    const decoding& ahead = both.with_parts;
    const bool same = both.is_cut ? begin_alike(alone.plain, ahead.plain)
                                  : alone.plain == ahead.plain && alone.ends == ahead.ends &&
                                        alone.error == ahead.error && alone.missing == ahead.missing;
    if (!same) FAIL("run ", run, ": ", ahead.error, ahead.missing, " instead of ", alone.error, alone.missing);
  }
  CHECK(fuzzer.parts() > runs / 2);
}

TEST_CASE("bzip2 fuzz: magic numbers are found at every bit, in pieces of any size") {
  std::mt19937 random(fuzz_seed(3));
  const std::size_t runs = fuzz_runs(50'000);
  for (std::size_t run = 0; run < runs; ++run) {
    const byte_vector bytes = random_haystack(random);
    const auto spans = random_pieces(bytes, random);
    const std::uint64_t size = bytes.empty() ? 0 : random() % (bytes.size() + 1);
    const std::uint64_t from = bytes.empty() ? 0 : random() % (8 * bytes.size());
    const auto found = find_bzip2_block(bzip2_pieces(spans), size, from);
    if (found != search_obviously(bytes, 8 * size, from)) FAIL("run ", run);
  }
}
