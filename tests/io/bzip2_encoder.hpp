// Writes bzip2 streams bit by bit, also such as no compressor writes: randomised blocks, magic numbers inside data,
// codes that are no prefix codes, any header field. Written for tests: slow, and for small blocks.
#pragma once

#include "tests/support/byte_vectors.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gpuhist::test {

/// Bits, most significant first.
class bit_writer {
 public:
  void put(std::uint64_t value, unsigned bits) {
    for (unsigned i = bits; i-- > 0;) {
      if (size_ % 8 == 0) bytes_.push_back(std::byte{0});
      bytes_.back() |= static_cast<std::byte>((value >> i & 1U) << (7U - size_ % 8));
      ++size_;
    }
  }
  void fill_byte() { size_ = 8 * bytes_.size(); }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] const byte_vector& bytes() const { return bytes_; }

 private:
  byte_vector bytes_;
  std::uint64_t size_ = 0;
};

/// How one block is written.
struct bzip2_block_settings {
  bool randomised = false;
  std::int64_t origin_change = 0;  ///< added to the right one
  std::uint32_t crc_change = 0;    ///< bits that are flipped
  unsigned codes = 2;
  unsigned selectors_added = 0;         ///< that no symbol uses
  std::vector<std::uint8_t> lengths{};  ///< of the code words; empty: 9 bits each
  std::vector<unsigned> symbols{};      ///< in place of those of the text, with `letters`, and the origin 0
  std::vector<std::uint8_t> letters{};  ///< further bytes that the header names as used
};

/// Checksum of a text as bzip2 defines it, bit by bit.
std::uint32_t bzip2_crc_of(std::span<const std::byte> text);

/// Blocks of one stream.
class bzip2_stream_writer {
 public:
  explicit bzip2_stream_writer(char level = '9');
  void block(std::span<const std::byte> text, const bzip2_block_settings& settings = {});
  byte_vector finish(std::uint32_t crc_change = 0);
  [[nodiscard]] std::uint64_t size_in_bits() const { return out_.size(); }

 private:
  bit_writer out_;
  std::uint32_t combined_ = 0;
};

}  // namespace gpuhist::test
