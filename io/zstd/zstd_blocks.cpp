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
  if (part_ == part::header) {
    for (const std::byte byte : bytes) {
      header_ |= std::to_integer<std::uint32_t>(byte) << (8 * (block_header_bytes - remaining_));
      --remaining_;
    }
  } else {
    remaining_ -= bytes.size();
  }
  if (remaining_ == 0) enter_next();
}

void zstd_blocks::enter_next() {
  if (part_ == part::header) enter_content();
  if (remaining_ != 0 || part_ == part::end) return;
  if (part_ == part::checksum || (last_ && !has_checksum_)) {
    part_ = part::end;
  } else if (last_) {
    part_ = part::checksum;
    remaining_ = checksum_bytes;
  } else {
    part_ = part::header;
    remaining_ = block_header_bytes;
    header_ = 0;
  }
}

void zstd_blocks::enter_content() {
  part_ = part::content;
  last_ = (header_ & 1U) != 0;
  const std::uint32_t size = header_ >> 3U;
  const std::uint32_t type = (header_ >> 1U) & 3U;
  remaining_ = type == run_length_type ? 1 : size;  // a run is stored as one byte
  damaged_ = type == reserved_type || size > max_bytes;
}

}  // namespace gpuhist::io
