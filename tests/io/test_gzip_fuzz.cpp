// gzip compared with zlib: thousands of damaged, truncated and mixed members (tests/support/campaign.hpp).
#include "io/gzip/gzip_decoder.hpp"

#include "tests/io/gzip_samples.hpp"
#include "tests/io/zstd_samples.hpp"
#include "tests/support/byte_vectors.hpp"
#include "tests/support/campaign.hpp"

#include <doctest/doctest.h>

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
