// gzip compared with zlib: thousands of damaged, truncated and mixed members. Random inputs for the decoding in parts:
// the finder of blocks, the decoder of parts, and the decoder that takes them over. FUZZ_RUNS and FUZZ_SEED: see
// tests/support/campaign.hpp.
#include "io/gzip/deflate_finder.hpp"
#include "io/gzip/deflate_part_decoder.hpp"
#include "io/gzip/deflate_run.hpp"
#include "io/gzip/gzip_decoder.hpp"

#include "tests/io/gzip_samples.hpp"
#include "tests/io/part_fuzz.hpp"
#include "tests/io/zstd_samples.hpp"
#include "tests/support/byte_vectors.hpp"
#include "tests/support/campaign.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <string>

using namespace gpuhist::test;
using gpuhist::io::make_gzip_decoder;

namespace {

constexpr std::size_t max_text = std::size_t{1} << 18U;

/// The result of zlib for one member at the front of `packed`: its text if it is valid.
struct zlib_verdict {
  bool good = false;
  byte_vector plain;
  std::size_t packed_bytes = 0;
};

zlib_verdict ask_zlib(std::span<const std::byte> packed) {
  constexpr int gzip_wrapper = 16;
  zlib_verdict verdict;
  verdict.plain.resize(max_text);
  z_stream stream{};
  REQUIRE(inflateInit2(&stream, 15 + gzip_wrapper) == Z_OK);
  stream.next_in = reinterpret_cast<const Bytef*>(packed.data());
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(verdict.plain.data());
  stream.avail_out = static_cast<uInt>(verdict.plain.size());
  verdict.good = inflate(&stream, Z_FINISH) == Z_STREAM_END;
  verdict.plain.resize(stream.total_out);
  verdict.packed_bytes = stream.total_in;
  inflateEnd(&stream);
  return verdict;
}

byte_vector some_member(std::mt19937& random) {
  const byte_vector text = random() % 3 == 0 ? noise(random() % 200, static_cast<std::uint32_t>(random()))
                                             : sample_text(random() % 600, static_cast<std::uint32_t>(random()));
  gzip_settings settings{.level = static_cast<int>(random() % 10), .mem_level = 1 + static_cast<int>(random() % 9)};
  if (random() % 4 == 0) settings.strategy = Z_FIXED;
  if (random() % 4 == 0) settings.header_checksum = true;
  if (random() % 4 == 0) settings.name = "name";
  return random() % 5 == 0 ? bgzf_block_of(text) : gzip_member_of(text, settings);
}

}  // namespace

TEST_CASE("gzip: of 20000 damaged members the decoder accepts exactly those that zlib accepts, with the same text") {
  std::mt19937 random(fuzz_seed(20));
  const auto decoder = make_gzip_decoder({});
  std::size_t good = 0;
  const std::size_t trials = fuzz_runs(20'000);
  for (std::size_t trial = 0; trial < trials; ++trial) {
    byte_vector packed = some_member(random);
    damage(packed, random, 6);
    const std::size_t padding = trial % 3 == 0 ? 0 : 64;  // the decoder of short members needs bytes after them
    packed.resize(packed.size() + padding);
    const zlib_verdict expected = ask_zlib(packed);
    byte_vector once(packed);
    if (expected.good) {
      once.resize(expected.packed_bytes);
      once.resize(expected.packed_bytes + padding);
    }
    decoder->restart({});
    const size_chooser cut = trial % 2 == 0 ? always(everything) : sometimes(50, static_cast<std::uint32_t>(trial));
    const decoding got = decode(*decoder, once, cut, cut, max_text);
    const bool accepted = got.accepted() && got.ends.size() == 1;
    if (accepted != expected.good) FAIL("trial ", trial, ": ", got.error, got.missing);
    if (accepted && got.plain != expected.plain) FAIL("trial ", trial, ": other text");
    if (!begin_alike(got.plain, expected.plain)) FAIL("trial ", trial, ": other text before the fault");
    if (accepted) ++good;
  }
  // damage to the time or name in a header is not covered by a checksum and changes no text
  CHECK(good > 0);
  CHECK(good < trials / 5);
}

namespace io = gpuhist::io;

namespace {

constexpr std::size_t most_text = std::size_t{1} << 20U;

byte_vector some_text(std::mt19937& random, std::size_t most) {
  const auto seed = static_cast<std::uint32_t>(random());
  return random() % 3 == 0 ? noise(random() % most, seed) : sample_text(random() % most, seed);
}

gzip_settings some_settings(std::mt19937& random) {
  gzip_settings settings{.level = static_cast<int>(random() % 10), .mem_level = 1 + static_cast<int>(random() % 3)};
  if (random() % 4 == 0) settings.strategy = static_cast<int>(random() % 5);
  if (random() % 2 == 0) {
    settings.flush_bytes = 1 + random() % 200;
    settings.flush = random() % 2 == 0 ? Z_FULL_FLUSH : Z_PARTIAL_FLUSH;
  }
  return settings;
}

/// Two members. The text of a stored one may be a member, too, whose blocks are then false ones.
byte_vector some_members(std::mt19937& random) {
  const byte_vector first = gzip_member_of(some_text(random, 900), some_settings(random));
  const byte_vector second = random() % 4 == 0 ? gzip_member_of(first, {.level = 0})
                                               : gzip_member_of(some_text(random, 300), some_settings(random));
  return joined(first, second);
}

part_shape some_shape(std::mt19937& random, std::size_t packed_bytes) {
  part_shape shape{.part_bytes = 1 + random() % packed_bytes, .look_ahead = random() % 600, .max_bytes = most_text};
  if (random() % 16 == 0) shape.max_bytes = (192U << 10U) + random() % 70'000;
  return shape;
}

/// The compressed offset of an invalid header of a block depends on where the input is cut, also without parts.
std::string without_uncertain_offset(const std::string& error) {
  if (error.find("an invalid block") == std::string::npos) return error;
  const std::size_t from = error.find(" at compressed offset");
  return error.substr(0, from) + error.substr(error.find(',', from));
}

bool are_same(const part_fuzzer::results& both) {
  const decoding& alone = both.alone;
  const decoding& ahead = both.with_parts;
  if (both.is_cut) return begin_alike(alone.plain, ahead.plain);
  return alone.plain == ahead.plain && alone.ends == ahead.ends && alone.missing == ahead.missing &&
         without_uncertain_offset(alone.error) == without_uncertain_offset(ahead.error);
}

/// A few random bytes, or some of `model` with a flipped bit; with padding.
byte_vector few_bytes(std::mt19937& random, const byte_vector& model) {
  byte_vector bytes(1 + random() % 96);
  if (random() % 2 == 0) {
    std::ranges::generate(bytes, [&random] { return static_cast<std::byte>(random() & 0xFFU); });
  } else {
    const std::size_t from = random() % (model.size() - bytes.size());
    std::copy_n(model.begin() + static_cast<std::ptrdiff_t>(from), bytes.size(), bytes.begin());
    bytes[random() % bytes.size()] ^= static_cast<std::byte>(1U << (random() % 8));
  }
  bytes.resize(bytes.size() + io::deflate_bits::padding);
  return bytes;
}

}  // namespace

TEST_CASE("gzip fuzz: damaged members decoded in parts give what the decoder gives alone") {
  std::mt19937 random(fuzz_seed(1));
  part_fuzzer fuzzer([] { return io::make_gzip_decoder({}); }, [] { return io::make_gzip_part_decoder(); });
  byte_vector whole;
  const std::size_t runs = fuzz_runs(20'000);
  for (std::size_t run = 0; run < runs; ++run) {
    if (run % 32 == 0) whole = some_members(random);
    byte_vector packed = whole;
    if (run % 4 != 0) damage(packed, random, 6);
    if (packed.empty()) continue;
    const auto both = fuzzer.decode(packed, some_shape(random, packed.size()), most_text);
    if (!are_same(both)) {
      FAIL("run ", run, ": ", both.with_parts.error, both.with_parts.missing, " instead of ", both.alone.error,
           both.alone.missing);
    }
  }
  CHECK(fuzzer.parts() > runs / 2);
}

// What is decoded from random bytes is not judged here, only by the sanitizers.
TEST_CASE("gzip fuzz: random bytes are searched and decoded within their bounds") {
  std::mt19937 random(fuzz_seed(2));
  io::deflate_blocks blocks;
  const auto memory = std::make_shared<io::part_memory>(io::deflate_text::chunk_bytes, 4);
  const byte_vector model = joined(gzip_member_of(sample_text(2000), {.mem_level = 1}), gzip_member_of(noise(300)));
  const std::size_t runs = fuzz_runs(100'000);
  for (std::size_t run = 0; run < runs; ++run) {
    const byte_vector bytes = few_bytes(random, model);
    const std::size_t size = bytes.size() - io::deflate_bits::padding;
    const io::deflate_data data{.bytes = std::span(bytes).first(size)};
    io::deflate_finder finder(data.bytes, size);
    for (auto guess = finder.next(); guess; guess = finder.next()) {
      if (guess->first_bit > guess->bit || guess->bit >= 8 * size) FAIL("run ", run, ": a guess outside the data");
      if (guess->found == io::block_guess::kind::member) continue;
      io::deflate_run decoded(most_text, memory);
      REQUIRE(decoded.begin_at_block(guess->first_bit, guess->bit, std::nullopt));
      decoded.decode(blocks, data, 8 * size);
    }
    // and with an empty window, from any bit
    io::deflate_run decoded(std::size_t{1} << 18U, memory);
    const std::uint64_t bit = random() % (8 * size);
    REQUIRE(decoded.begin_at_block(bit, bit, std::span<const std::byte>()));
    decoded.decode(blocks, data, 8 * size);
    if (decoded.position() > 8 * size) FAIL("run ", run, ": a block beyond the data");
  }
}
