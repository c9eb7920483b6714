// A block's header, 24 bits, little endian: last block (1) | type (2) | size (21).
#include "io/zstd/zstd_blocks.hpp"

namespace gpuhist::io {
namespace {

constexpr std::size_t checksum_bytes = 4;
constexpr std::uint32_t run_length_type = 1;
constexpr std::uint32_t reserved_type = 3;
constexpr std::uint32_t max_bytes = 128U << 10U;

}  // namespace

void zstd_blocks::advance(std::span<const std::byte> bytes) {
  if (unit_ == unit::header) {
    for (const std::byte byte : bytes) {
      header_ |= std::to_integer<std::uint32_t>(byte) << (8 * (block_header_bytes - left_));
      --left_;
    }
  } else {
    left_ -= bytes.size();
  }
  if (left_ == 0) enter_next();
}

void zstd_blocks::enter_next() {
  if (unit_ == unit::header) enter_content();
  if (left_ != 0 || unit_ == unit::end) return;
  if (unit_ == unit::checksum || (last_ && !has_checksum_)) {
    unit_ = unit::end;
  } else if (last_) {
    unit_ = unit::checksum;
    left_ = checksum_bytes;
  } else {
    unit_ = unit::header;
    left_ = block_header_bytes;
    header_ = 0;
  }
}

void zstd_blocks::enter_content() {
  unit_ = unit::content;
  last_ = (header_ & 1U) != 0;
  const std::uint32_t size = header_ >> 3U;
  const std::uint32_t type = (header_ >> 1U) & 3U;
  left_ = type == run_length_type ? 1 : size;  // a run is one byte, however long
  damaged_ = type == reserved_type || size > max_bytes;
}

}  // namespace gpuhist::io
