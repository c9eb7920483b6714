#include "io/xz/xz_index.hpp"

#include <bit>

namespace gpuhist::io {

void xz_block_record::add(std::uint64_t unpadded, std::uint64_t text) {
  ++blocks_;
  mix(unpadded);
  mix(text);
}

// Each step is invertible for a given value, so records that differ in one value never have the same hashes. liblzma
// uses SHA-256 here, but does not export it. An index that was made to collide would gain nothing: each block has a
// check of its own.
void xz_block_record::mix(std::uint64_t value) {
  constexpr int rotation = 29;
  constexpr std::uint64_t factor = 0x9E3779B97F4A7C15U;  // 2^64 / golden ratio
  first_ = std::rotl((first_ ^ value) * factor, rotation);
  second_ = (std::rotl(second_, rotation) + value) * (factor + 2);
}

xz_index_reader::progress xz_index_reader::advance(std::span<const std::byte> bytes) {
  std::size_t at = 0;
  bool is_wrong = false;
  while (!is_wrong && part_ != part::checksum && at < bytes.size()) is_wrong = !take_part(bytes, at);
  crc_ = lzma_crc32(reinterpret_cast<const std::uint8_t*>(bytes.data()), at, crc_);
  size_ += at;
  if (is_wrong) return {.taken = at, .found = verdict::wrong};
  const verdict found = part_ == part::checksum ? take_checksum(bytes, at) : verdict::needs_input;
  return {.taken = at, .found = found};
}

// Returns false if the index is wrong.
bool xz_index_reader::take_part(std::span<const std::byte> bytes, std::size_t& at) {
  switch (part_) {
    case part::indicator:
      part_ = part::number;
      return bytes[at++] == std::byte{0};
    case part::number:
    case part::unpadded:
    case part::text:
      return take_number(bytes, at);
    case part::padding:
      if ((size_ + at) % 4 != 0) return bytes[at++] == std::byte{0};
      part_ = part::checksum;
      return listed_ == expected_;
    case part::checksum:
      break;
  }
  return true;
}

bool xz_index_reader::take_number(std::span<const std::byte> bytes, std::size_t& at) {
  const auto* const in = reinterpret_cast<const std::uint8_t*>(bytes.data());
  const lzma_ret code = lzma_vli_decode(&number_, &number_size_, in, &at, bytes.size());
  if (code == LZMA_OK) return true;
  number_size_ = 0;
  return code == LZMA_STREAM_END && leave_number();
}

bool xz_index_reader::leave_number() {
  const bool is_number_of_blocks = part_ == part::number;
  if (is_number_of_blocks && number_ != expected_.blocks()) return false;
  if (part_ == part::unpadded) {
    unpadded_ = number_;
    part_ = part::text;
    return true;
  }
  if (!is_number_of_blocks) listed_.add(unpadded_, number_);
  part_ = listed_.blocks() == expected_.blocks() ? part::padding : part::unpadded;
  return true;
}

xz_index_reader::verdict xz_index_reader::take_checksum(std::span<const std::byte> bytes, std::size_t& at) {
  constexpr unsigned all_bits = 32;
  while (at < bytes.size() && crc_bits_ < all_bits) {
    const auto expected = static_cast<std::byte>((crc_ >> crc_bits_) & 0xFFU);
    if (bytes[at++] != expected) return verdict::wrong;
    ++size_;
    crc_bits_ += 8;
  }
  return crc_bits_ == all_bits ? verdict::matches : verdict::needs_input;
}

}  // namespace gpuhist::io
