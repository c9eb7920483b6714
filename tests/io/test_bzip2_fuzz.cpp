// bzip2 compared with libbz2: blocks that today's compressors do not write (randomised ones, unusual codes, wrong
// fields), and random inputs. Decoding in parts is compared with the decoder alone, positions of magic numbers with a
// search bit by bit. FUZZ_RUNS and FUZZ_SEED: see tests/support/campaign.hpp.
#include "io/bzip2/bzip2_decoder.hpp"
#include "io/bzip2/bzip2_parts.hpp"
#include "io/bzip2/bzip2_search.hpp"

#include "tests/contract/decoder_contract.hpp"
#include "tests/io/bzip2_encoder.hpp"
#include "tests/io/packed_samples.hpp"
#include "tests/io/part_fuzz.hpp"
#include "tests/io/zstd_samples.hpp"
#include "tests/support/campaign.hpp"

#include <doctest/doctest.h>

#include <random>

using namespace gpuhist::test;
using gpuhist::io::bzip2_pieces;
using gpuhist::io::find_bzip2_block;

namespace {

const decoder_maker make = [] { return gpuhist::io::make_bzip2_decoder({}); };

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
