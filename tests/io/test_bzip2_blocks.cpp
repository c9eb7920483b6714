// Blocks that today's compressors do not write, compared with libbz2: randomised ones, unusual codes, wrong fields.
#include "io/bzip2/bzip2_decoder.hpp"
#include "tests/contract/decoder_contract.hpp"
#include "tests/io/bzip2_encoder.hpp"
#include "tests/io/packed_samples.hpp"
#include "tests/io/zstd_samples.hpp"

#include <doctest/doctest.h>

#include <random>

using namespace gpuhist::test;

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
