// xz, lzip, bzip2 and lz4 compared with one call of the library that wrote the data: 100000 damaged frames
// (tests/support/campaign.hpp), and small frames truncated at every byte. Of xz and lzip also archives of several
// frames, each decoded by a decoder of its own.
#include "io/format.hpp"

#include "tests/contract/splitter_contract.hpp"
#include "tests/io/lz4_samples.hpp"
#include "tests/io/packed_samples.hpp"
#include "tests/io/zstd_samples.hpp"
#include "tests/support/byte_vectors.hpp"
#include "tests/support/campaign.hpp"

#include <doctest/doctest.h>

#include <array>

using namespace gpuhist::test;

namespace {

constexpr std::size_t max_text = std::size_t{1} << 17U;

/// The result of a library for one frame at the front of some bytes: its text if it is valid.
struct verdict {
  bool good = false;
  byte_vector plain;
  std::size_t packed_bytes = 0;
};

verdict run_lzma(lzma_stream& coder, std::span<const std::byte> packed) {
  verdict result;
  result.plain.resize(max_text);
  coder.next_in = reinterpret_cast<const std::uint8_t*>(packed.data());
  coder.avail_in = packed.size();
  coder.next_out = reinterpret_cast<std::uint8_t*>(result.plain.data());
  coder.avail_out = result.plain.size();
  result.good = lzma_code(&coder, LZMA_FINISH) == LZMA_STREAM_END;
  result.packed_bytes = coder.total_in;
  result.plain.resize(coder.total_out);
  lzma_end(&coder);
  return result;
}

constexpr std::uint64_t memory_limit = std::uint64_t{160} << 20U;

verdict ask_xz(std::span<const std::byte> packed) {
  lzma_stream coder = LZMA_STREAM_INIT;
  constexpr std::uint32_t flags = LZMA_TELL_UNSUPPORTED_CHECK;  // style-ok: a name of liblzma
  REQUIRE(lzma_stream_decoder(&coder, memory_limit, flags) == LZMA_OK);
  return run_lzma(coder, packed);
}

verdict ask_lzip(std::span<const std::byte> packed) {
  lzma_stream coder = LZMA_STREAM_INIT;
  REQUIRE(lzma_lzip_decoder(&coder, memory_limit, 0) == LZMA_OK);
  return run_lzma(coder, packed);
}

verdict ask_bzip2(std::span<const std::byte> packed) {
  bzip2_verdict asked = ask_libbz2(packed, max_text);
  return {.good = asked.is_valid, .plain = std::move(asked.text), .packed_bytes = asked.packed_bytes};
}

verdict ask_lz4(std::span<const std::byte> packed) {
  verdict result;
  result.plain.resize(max_text);
  LZ4F_dctx* context = nullptr;
  REQUIRE(LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION)) == 0);
  std::size_t took = packed.size();
  std::size_t wrote = result.plain.size();
  result.good = LZ4F_decompress(context, result.plain.data(), &wrote, packed.data(), &took, nullptr) == 0;
  result.packed_bytes = took;
  result.plain.resize(result.good ? wrote : 0);
  LZ4F_freeDecompressionContext(context);
  return result;
}

byte_vector some_text(std::mt19937& random) {
  const auto seed = static_cast<std::uint32_t>(random());
  return random() % 3 == 0 ? noise(random() % 100, seed) : sample_text(random() % 500, seed);
}

byte_vector some_xz(const byte_vector& text, std::mt19937& random) {
  constexpr std::array checks{LZMA_CHECK_CRC32, LZMA_CHECK_CRC64, LZMA_CHECK_SHA256};
  return xz_stream_of(text, {.check = checks.at(random() % checks.size()),
                             .block_bytes = random() % 3 == 0 ? 60 : std::size_t{0},
                             .dictionary = 4096,
                             .states_sizes = random() % 2 == 0});
}

byte_vector some_lzip(const byte_vector& text, std::mt19937& /*random*/) { return lzip_member_of(text); }

byte_vector some_bzip2(const byte_vector& text, std::mt19937& /*random*/) { return bzip2_stream_of(text, 1); }

byte_vector some_lz4(const byte_vector& text, std::mt19937& random) {
  return lz4_frame_of(
      text,
      {.linked_blocks = random() % 2 == 0, .block_checksums = random() % 2 == 0, .content_size = random() % 2 == 0});
}

struct subject {
  std::string_view format;
  verdict (*ask)(std::span<const std::byte>);
  byte_vector (*make)(const byte_vector&, std::mt19937&);
};

constexpr std::array subjects{
    subject{.format = "xz", .ask = ask_xz, .make = some_xz},
    subject{.format = "lzip", .ask = ask_lzip, .make = some_lzip},
    subject{.format = "bzip2", .ask = ask_bzip2, .make = some_bzip2},
    subject{.format = "lz4", .ask = ask_lz4, .make = some_lz4},
};

/// Decodes one damaged frame; returns whether it was accepted.
bool try_damaged(const subject& format_under_test, gpuhist::io::decoder& decoder, const byte_vector& packed,
                 std::uint32_t trial) {
  const verdict expected = format_under_test.ask(packed);
  const auto once = std::span(packed).first(expected.good ? expected.packed_bytes : packed.size());
  decoder.restart({});
  const size_chooser cut = trial % 2 == 0 ? always(everything) : sometimes(50, trial);
  const decoding got = decode(decoder, once, cut, cut, max_text);
  const bool accepted = got.accepted();  // all of `once` was decoded, and it may end there
  if (accepted != expected.good) FAIL(format_under_test.format, ", trial ", trial, ": ", got.error, got.missing);
  if (accepted && got.plain != expected.plain) FAIL(format_under_test.format, ", trial ", trial, ": other text");
  return accepted;
}

}  // namespace

TEST_CASE(
    "of 100000 damaged frames exactly those are accepted that the libraries accept, with the text that was in them") {
  for (const subject& format_under_test : subjects) {
    std::mt19937 random(fuzz_seed(25));
    const auto decoder = gpuhist::io::format_named(format_under_test.format)->make_decoder({});
    std::size_t good = 0;
    byte_vector text;
    byte_vector whole;
    const std::size_t trials = fuzz_runs(25'000);
    for (std::uint32_t trial = 0; trial < trials; ++trial) {
      if (trial % 10 == 0) {
        text = some_text(random);
        whole = format_under_test.make(text, random);
      }
      byte_vector packed = whole;
      damage(packed, random, 8);
      if (!try_damaged(format_under_test, *decoder, packed, trial)) continue;
      ++good;
      decoder->restart({});
      const decoding got = decode(*decoder, packed, always(everything), always(everything), max_text);
      if (!begin_alike(got.plain, text) || got.plain.size() < text.size())
        FAIL(format_under_test.format, ", trial ", trial);
    }
    CAPTURE(format_under_test.format);
    CHECK(good < trials / 50);  // a byte overwritten by its own value, or bytes that no checksum covers
  }
}

TEST_CASE("a small frame that is truncated at any byte is refused, with the text before that byte") {
  std::mt19937 random(3);
  for (const subject& format_under_test : subjects) {
    CAPTURE(format_under_test.format);
    const byte_vector text = sample_text(300);
    const byte_vector packed = format_under_test.make(text, random);
    const auto make = [&format_under_test] {
      return gpuhist::io::format_named(format_under_test.format)->make_decoder({});
    };
    for (std::size_t length = 0; length < packed.size(); ++length) {
      const decoding got =
          decode(make, std::span(packed).first(length), always(everything), always(everything), max_text);
      CHECK_FALSE(got.accepted());
      CHECK(begin_alike(got.plain, text));
    }
  }
}

TEST_CASE("20000 damaged archives of frames that are decoded by a decoder each have the result of one decoder") {
  for (const std::string_view name : {"xz", "lzip"}) {
    CAPTURE(name);
    const auto* const kind = std::ranges::find(subjects, name, &subject::format);
    const gpuhist::io::format& format = *gpuhist::io::format_named(name);
    const auto make = [&format] { return format.make_decoder({}); };
    std::mt19937 random(fuzz_seed(10));
    byte_vector whole;
    const std::size_t trials = fuzz_runs(10'000);
    for (std::uint32_t trial = 0; trial < trials; ++trial) {
      if (trial % 10 == 0) {
        whole.clear();
        for (auto frames = 1 + random() % 4; frames > 0; --frames)
          whole = joined(whole, kind->make(some_text(random), random));
      }
      byte_vector packed = whole;
      damage(packed, random, 8);
      const decoding expected = decode(make, packed, always(everything), always(everything), max_text);
      const size_chooser cut = trial % 2 == 0 ? always(everything) : sometimes(90, trial);
      const decoding got = decode_frames(format.make_splitter, make, packed, cut, max_text);
      // damage may prolong a member; a decoder that has the bytes of the next one then fails there
      const bool same_error = got.missing == expected.missing && clause_of(got.error) == clause_of(expected.error);
      const bool is_longer = !expected.accepted() && got.missing.find("sizes in headers") != std::string::npos;
      if (got.ends != expected.ends || !begin_alike(got.plain, expected.plain) || !(same_error || is_longer))
        FAIL(name, ", trial ", trial, ": ", got.error, got.missing, " instead of ", expected.error, expected.missing);
    }
  }
}
