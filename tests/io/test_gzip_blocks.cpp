// The block finder, the decoder of blocks and the combination of checksums, compared with zlib; fuzz tests of parts.
#include "io/gzip/crc32_combination.hpp"
#include "io/gzip/deflate_finder.hpp"
#include "io/gzip/deflate_part_decoder.hpp"
#include "io/gzip/deflate_run.hpp"
#include "io/gzip/gzip_decoder.hpp"

#include "tests/contract/part_contract.hpp"
#include "tests/io/gzip_samples.hpp"
#include "tests/io/zstd_samples.hpp"
#include "tests/support/byte_vectors.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <vector>

using namespace gpuhist::test;
namespace io = gpuhist::io;

namespace {

/// The blocks of the member at the front of `packed`: where each begins, in bits, and how much text is before it.
struct block_begin {
  std::uint64_t bit = 0;
  std::size_t text = 0;
};

std::vector<block_begin> ask_zlib_for_blocks(const byte_vector& packed, std::size_t max_text) {
  constexpr int at_block = 128;
  z_stream stream{};
  REQUIRE(inflateInit2(&stream, 15 + 16) == Z_OK);
  byte_vector text(max_text + 1);
  stream.next_in = reinterpret_cast<const Bytef*>(packed.data());
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  std::vector<block_begin> blocks;
  for (int code = Z_OK; code == Z_OK;) {
    code = inflate(&stream, Z_BLOCK);
    if (code == Z_OK && (stream.data_type & at_block) != 0 && (stream.data_type & 64) == 0) {
      blocks.push_back(
          {.bit = 8 * stream.total_in - static_cast<unsigned>(stream.data_type & 7), .text = stream.total_out});
    }
  }
  inflateEnd(&stream);
  return blocks;
}

byte_vector with_padding(byte_vector bytes) {
  bytes.resize(bytes.size() + io::deflate_bits::padding);
  return bytes;
}

std::vector<io::block_guess> all_guesses(const byte_vector& packed) {
  const byte_vector padded = with_padding(packed);
  io::deflate_finder finder({padded.data(), packed.size()}, packed.size());
  std::vector<io::block_guess> guesses;
  while (const auto guess = finder.next()) guesses.push_back(*guess);
  return guesses;
}

unsigned bits_at(const byte_vector& packed, std::uint64_t bit, unsigned number) {
  unsigned bits = 0;
  for (unsigned i = 0; i < number; ++i, ++bit) {
    bits |= (std::to_integer<unsigned>(packed[bit / 8]) >> (bit % 8) & 1U) << i;
  }
  return bits;
}

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

/// The compressed offset of an invalid header of a block depends on where the input is cut, also without parts.
std::string without_uncertain_offset(const std::string& error) {
  if (error.find("an invalid block") == std::string::npos) return error;
  const std::size_t from = error.find(" at compressed offset");
  return error.substr(0, from) + error.substr(error.find(',', from));
}

/// Random members and damage; decoding in parts gives what the decoder gives alone.
void fuzz_parts(std::size_t runs, std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto alone = io::make_gzip_decoder({});
  const auto with_parts = io::make_gzip_decoder({});
  const auto parts_decoder = io::make_gzip_part_decoder();
  const decoder_maker make = [] { return io::make_gzip_decoder({}); };
  byte_vector packed;
  decoding expected;
  for (std::size_t run = 0; run < runs; ++run) {
    if (run % 16 == 0) {
      packed = joined(gzip_member_of(some_text(random, 900), some_settings(random)),
                      gzip_member_of(some_text(random, 300), some_settings(random)));
    }
    byte_vector damaged = packed;
    if (run % 4 != 0) damage(damaged, random, 6);
    if (damaged.empty()) continue;
    const part_shape shape{.part_bytes = 1 + random() % damaged.size(), .look_ahead = random() % 600};
    alone->restart({});
    const decoding want = decode(*alone, damaged, always(shape.part_bytes), always(everything), 1U << 18U);
    std::vector<std::shared_ptr<io::decoded_part>> parts;
    with_parts->restart({});
    byte_vector text;
    byte_vector out(1U << 18U);
    std::size_t at = 0;
    std::string error;
    for (std::size_t begin = 0; begin < damaged.size() && error.empty(); begin += shape.part_bytes) {
      const std::size_t size = std::min(shape.part_bytes, damaged.size() - begin);
      const byte_vector own(
          damaged.begin() + static_cast<std::ptrdiff_t>(begin),
          damaged.begin() + static_cast<std::ptrdiff_t>(std::min(damaged.size(), begin + size + shape.look_ahead)));
      const std::vector<std::span<const std::byte>> pieces{own};
      std::shared_ptr<io::decoded_part> part =
          parts_decoder->decode({.offset = begin,
                                 .size = size,
                                 .pieces = pieces,
                                 .ends_input = begin + own.size() == damaged.size(),
                                 .begins_frame = begin == 0,
                                 .max_bytes = std::size_t{1} << 20U});
      if (part) part->link(parts.empty() ? nullptr : parts.back().get());
      if (part) part->finish();
      parts.push_back(part);
      with_parts->offer(part);
      for (io::fill_result got{.status = io::fill_status::frame_verified};
           got.status == io::fill_status::frame_verified || got.status == io::fill_status::output_full;) {
        got = with_parts->fill(std::span(damaged).subspan(at, begin + size - at), out);
        at += got.consumed;
        text.insert(text.end(), out.begin(), out.begin() + static_cast<std::ptrdiff_t>(got.produced));
        if (got.status == io::fill_status::failed) error = with_parts->fault(0);
      }
    }
    const std::string missing = error.empty() ? with_parts->missing_at_end(0) : std::string();
    if (without_uncertain_offset(error) != without_uncertain_offset(want.error) || missing != want.missing ||
        text != want.plain) {
      FAIL("run ", run, ": ", error, missing, " instead of ", want.error, want.missing);
    }
  }
}

/// Random bytes: what is decoded from them is not judged here, only by the sanitizers.
void fuzz_guesses(std::size_t runs, std::uint32_t seed) {
  std::mt19937 random(seed);
  io::deflate_blocks blocks;
  const auto memory = std::make_shared<io::part_memory>(io::deflate_text::chunk_bytes, 4);
  const byte_vector model = joined(gzip_member_of(sample_text(2000), {.mem_level = 1}), gzip_member_of(noise(300)));
  byte_vector bytes;
  for (std::size_t run = 0; run < runs; ++run) {
    const std::size_t size = 1 + random() % 96;
    if (random() % 2 == 0) {
      bytes.assign(size + io::deflate_bits::padding, std::byte{0});
      for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(random() & 0xFFU);
    } else {
      const std::size_t from = random() % (model.size() - size);
      bytes.assign(model.begin() + static_cast<std::ptrdiff_t>(from),
                   model.begin() + static_cast<std::ptrdiff_t>(from + size));
      bytes[random() % size] ^= static_cast<std::byte>(1U << (random() % 8));
      bytes.resize(size + io::deflate_bits::padding);
    }
    const io::deflate_data data{.bytes = std::span(bytes).first(size)};
    io::deflate_finder finder(data.bytes, size);
    for (auto guess = finder.next(); guess; guess = finder.next()) {
      if (guess->first_bit > guess->bit || guess->bit >= 8 * size) FAIL("a guess outside the data");
      if (guess->found == io::block_guess::kind::member) continue;
      io::deflate_run decoded(std::size_t{1} << 20U, memory);
      REQUIRE(decoded.begin_at_block(guess->first_bit, guess->bit, std::nullopt));
      decoded.decode(blocks, data, 8 * size);
    }
    // and with an empty window, from any bit
    io::deflate_run decoded(std::size_t{1} << 18U, memory);
    const std::uint64_t bit = random() % (8 * size);
    REQUIRE(decoded.begin_at_block(bit, bit, std::span<const std::byte>()));
    decoded.decode(blocks, data, 8 * size);
    if (decoded.position() > 8 * size) FAIL("a block beyond the data");
  }
}

}  // namespace

TEST_CASE("gzip: the checksum of two texts is that of both in sequence") {
  const byte_vector text = joined(noise(10'000), sample_text(5000));
  const auto crc_of = [](std::span<const std::byte> bytes) {
    return static_cast<std::uint32_t>(
        ::crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size())));
  };
  for (const std::size_t cut : {0, 1, 7, 8, 9, 4096, 14'999, 15'000}) {
    const auto first = std::span(text).first(cut);
    const auto second = std::span(text).subspan(cut);
    CHECK(io::combine_crc32(crc_of(first), crc_of(second), second.size()) == crc_of(text));
  }
  CHECK(io::combine_crc32(0x12345678, 0x9ABCDEF0, 5'000'000'000) ==
        crc32_combine64(0x12345678, 0x9ABCDEF0, 5'000'000'000));
}

TEST_CASE("gzip: the finder finds every block with codes of its own and every stored block, except last ones") {
  std::size_t dynamic = 0;
  std::size_t stored = 0;
  for (const int level : {0, 1, 6, 9}) {
    const byte_vector plain = joined(sample_text(300'000), noise(100'000));
    const byte_vector packed = gzip_member_of(plain, {.level = level, .mem_level = 3, .flush_bytes = 70'000});
    const std::vector<io::block_guess> guesses = all_guesses(packed);
    for (const block_begin& block : ask_zlib_for_blocks(packed, plain.size())) {
      const unsigned head = bits_at(packed, block.bit, 3);
      if (head != 4 && head != 0) continue;
      ++(head == 4 ? dynamic : stored);
      CHECK(std::ranges::any_of(guesses, [&](const io::block_guess& guess) {
        return guess.first_bit <= block.bit && block.bit <= guess.bit;
      }));
    }
    CHECK(std::ranges::is_sorted(guesses, {}, [](const io::block_guess& guess) { return guess.bit / 8; }));
  }
  CHECK(dynamic > 50);
  CHECK(stored > 10);
}

TEST_CASE("gzip: from any block on, the text is that of zlib where it does not depend on the text before") {
  const byte_vector plain = joined(sample_text(200'000), noise(50'000));
  const byte_vector packed = gzip_member_of(plain, {.mem_level = 4});
  const byte_vector padded = with_padding(packed);
  const io::deflate_data data{.bytes = std::span(padded).first(packed.size())};
  const auto memory = std::make_shared<io::part_memory>(io::deflate_text::chunk_bytes, 4);
  io::deflate_blocks blocks;
  for (const block_begin& block : ask_zlib_for_blocks(packed, plain.size())) {
    CAPTURE(block.bit);
    io::deflate_run run(std::size_t{1} << 30U, memory);
    REQUIRE(run.begin_at_block(block.bit, block.bit, std::nullopt));
    CHECK(run.decode(blocks, data, 8 * (packed.size() - 9)) == io::run_end::reached);
    std::vector<std::byte> window(std::min(block.text, io::deflate_window));
    std::copy_n(plain.begin() + static_cast<std::ptrdiff_t>(block.text - window.size()), window.size(), window.begin());
    CHECK_FALSE(run.text().reaches_before(window.size()));
    run.text().resolve(window);
    byte_vector text;
    for (const auto& chunk : run.text().chunks()) {
      const std::byte* const bytes = chunk.is_marked ? chunk.resolved() : chunk.bytes();
      text.insert(text.end(), bytes, bytes + chunk.size);
    }
    CHECK((text == byte_vector(plain.begin() + static_cast<std::ptrdiff_t>(block.text), plain.end())));
  }
}

TEST_CASE("gzip: 20000 damaged inputs decoded in parts give what the decoder gives alone") { fuzz_parts(20'000, 1); }

TEST_CASE("gzip: 100000 inputs of random bytes are searched and decoded within their bounds") {
  fuzz_guesses(100'000, 2);
}

// With --no-skip: minutes to hours. GPUHIST builds with sanitizers run them before a release.
TEST_CASE("gzip: 10^7 damaged inputs decoded in parts give what the decoder gives alone" * doctest::skip()) {
  fuzz_parts(10'000'000, 3);
}

TEST_CASE("gzip: 10^7 inputs of random bytes are searched and decoded within their bounds" * doctest::skip()) {
  fuzz_guesses(10'000'000, 4);
}
