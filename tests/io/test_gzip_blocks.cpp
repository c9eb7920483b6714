// The block finder, the decoder of blocks and the combination of checksums, compared with zlib.
#include "io/gzip/crc32_combination.hpp"
#include "io/gzip/deflate_finder.hpp"
#include "io/gzip/deflate_run.hpp"

#include "tests/io/gzip_samples.hpp"
#include "tests/io/zstd_samples.hpp"
#include "tests/support/byte_vectors.hpp"

#include <doctest/doctest.h>

#include <optional>
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
