// The decoders of deflate data, compared with zlib: the block finder, the decoder of blocks and the combination of
// checksums; what whole_inflater decodes, zlib decodes to the same text, and what zlib writes, it decodes.
#include "io/archive/whole_inflater.hpp"
#include "io/checksum.hpp"
#include "io/gzip/deflate_finder.hpp"
#include "io/gzip/deflate_run.hpp"

#include "tests/io/gzip_samples.hpp"
#include "tests/io/zip_samples.hpp"
#include "tests/io/zstd_samples.hpp"
#include "tests/support/byte_strings.hpp"
#include "tests/support/byte_vectors.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

using namespace gpuhist::test;
using namespace gpuhist::io;
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
    const io::mark_table marks(window);
    byte_vector text;
    for (const auto& chunk : run.text().chunks()) {
      if (chunk.is_marked) marks.resolve(chunk.symbols(), chunk.size, chunk.resolved());
      const std::byte* const bytes = chunk.is_marked ? chunk.resolved() : chunk.bytes();
      text.insert(text.end(), bytes, bytes + chunk.size);
    }
    CHECK((text == byte_vector(plain.begin() + static_cast<std::ptrdiff_t>(block.text), plain.end())));
  }
}

namespace {

/// The text that zlib finds, if it ends exactly at the end of the data and has this size.
std::optional<std::string> text_of_zlib(const std::string& packed, std::size_t size) {
  z_stream stream{};
  REQUIRE(inflateInit2(&stream, -15) == Z_OK);
  std::string text(size + 1, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  const int result = inflate(&stream, Z_FINISH);
  const bool is_exact = result == Z_STREAM_END && stream.avail_in == 0 && stream.total_out == size;
  inflateEnd(&stream);
  if (!is_exact) return std::nullopt;
  text.resize(size);
  return text;
}

std::optional<std::string> text_of_inflater(whole_inflater& inflater, const std::string& packed, std::size_t size) {
  std::string text(size, '\0');
  const std::string padded = packed + std::string(whole_inflater::padding, '\0');
  const auto data = bytes_of(padded).first(packed.size());
  const auto crc = inflater.inflate(data, std::as_writable_bytes(std::span(text)));
  if (!crc) return std::nullopt;
  CHECK(*crc == crc32(0, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(size)));
  return text;
}

std::string words(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::string text;
  while (text.size() < size) text += "word" + std::to_string(random() % 3000) + (random() % 9 == 0 ? "\n" : " ");
  text.resize(size);
  return text;
}

std::string noise(std::size_t size) {
  std::mt19937 random(7);
  std::string text;
  while (text.size() < size) text += static_cast<char>(random());
  return text;
}

std::vector<std::string> texts() {
  return {"a",
          "hello, hello, hello",
          std::string(100'000, 'x'),
          words(3'000'000, 1),
          noise(300'000),
          words(50'000, 2) + noise(70'000) + words(100'000, 3),
          words(40, 4)};
}

// Bits of a header of a block, written from the lowest on.
class bit_string {
 public:
  bit_string& put(unsigned value, unsigned count) {
    for (unsigned i = 0; i < count; ++i, ++size_) {
      if (size_ % 8 == 0) bytes_ += '\0';
      bytes_.back() = static_cast<char>(bytes_.back() | (value >> i & 1U) << (size_ % 8));
    }
    return *this;
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
  std::size_t size_ = 0;
};

// A block with codes of its own: 'a' has the code word 0, the end of the block the code word 10. `third`: whether
// another symbol has the code word 11, so that the code is complete.
std::string block_of_a(std::size_t repeats, bool third) {
  bit_string block;
  block.put(1, 1).put(2, 2).put(0, 5).put(0, 5).put(18 - 4, 4);
  // the code of lengths, in its order: 16 17 18 0 8 7 9 6 10 5 11 4 12 3 13 2 14 1; 18 and 0, 1, 2 have two bits each
  for (const unsigned length : {0, 0, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 2}) block.put(length, 3);
  const auto word = [&](unsigned symbol) { block.put(symbol == 0 ? 0 : symbol == 1 ? 2 : symbol == 2 ? 1 : 3, 2); };
  const auto zeros = [&](unsigned count) {
    word(18);
    block.put(count - 11, 7);
  };
  zeros(97);
  word(1);  // 'a'
  if (third) {
    word(2);  // 'b'
    zeros(138);
    zeros(19);
  } else {
    zeros(138);
    zeros(20);
  }
  word(2);  // end of block
  word(0);  // no distances
  for (std::size_t i = 0; i < repeats; ++i) block.put(0, 1);
  // code words of one length are in the order of their symbols: 'b' 10, end 11, or the end alone 10
  block.put(1, 1).put(third ? 1 : 0, 1);
  return block.bytes();
}

}  // namespace

TEST_CASE("whatever zlib writes, at any level and in any kind of block, is decoded") {
  whole_inflater inflater;
  for (const std::string& text : texts()) {
    for (const int level : {0, 1, 6, 9}) {
      for (const int strategy : {Z_DEFAULT_STRATEGY, Z_FIXED, Z_HUFFMAN_ONLY, Z_RLE}) {
        const std::string packed = deflated(text, level, strategy);
        CHECK(text_of_inflater(inflater, packed, text.size()) == text);
      }
    }
  }
}

TEST_CASE("data that continues, ends early, or has a text of another length has no result") {
  whole_inflater inflater;
  for (const std::string& text : texts()) {
    const std::string packed = deflated(text);
    CHECK_FALSE(text_of_inflater(inflater, packed + '\0', text.size()));
    CHECK_FALSE(text_of_inflater(inflater, packed.substr(0, packed.size() - 1), text.size()));
    CHECK_FALSE(text_of_inflater(inflater, packed, text.size() - 1));
    CHECK_FALSE(text_of_inflater(inflater, packed, text.size() + 1));
    CHECK_FALSE(text_of_inflater(inflater, {}, text.size()));
  }
}

TEST_CASE("a code in which a sequence of bits has no meaning has no result, as zlib refuses it") {
  whole_inflater inflater;
  CHECK(text_of_zlib(block_of_a(9, true), 9) == "aaaaaaaaa");
  CHECK(text_of_inflater(inflater, block_of_a(9, true), 9) == "aaaaaaaaa");
  CHECK_FALSE(text_of_zlib(block_of_a(9, false), 9));
  CHECK_FALSE(text_of_inflater(inflater, block_of_a(9, false), 9));
}

TEST_CASE("of data in which any bit is flipped, what has a result has the text that zlib finds") {
  whole_inflater inflater;
  std::size_t decoded = 0;
  std::size_t refused = 0;
  for (const std::string& text : {words(600, 1), std::string(500, 'x') + words(100, 2), words(40, 3), words(9000, 4)}) {
    const std::string packed = deflated(text);
    for (std::size_t bit = 0; bit < 8 * packed.size(); ++bit) {
      std::string damaged = packed;
      damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
      const auto found = text_of_inflater(inflater, damaged, text.size());
      ++(found ? decoded : refused);
      if (!found || found == text_of_zlib(damaged, text.size())) continue;
      CAPTURE(bit);
      CHECK(found == text_of_zlib(damaged, text.size()));
    }
  }
  CHECK(decoded > 0);
  CHECK(refused > 0);
}
