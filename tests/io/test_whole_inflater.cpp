// whole_inflater: what it decodes, zlib decodes to the same text; and what zlib writes, it decodes.
#include "io/archive/whole_inflater.hpp"

#include "tests/io/zip_samples.hpp"
#include "tests/support/byte_strings.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

using namespace gpuhist::io;
using namespace gpuhist::test;

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
