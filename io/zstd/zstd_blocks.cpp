#include "io/zstd/zstd_blocks.hpp"

namespace gpuhist::io {
namespace {

constexpr std::size_t checksum_bytes = 4;

}  // namespace

void zstd_blocks::advance(std::span<const std::byte> bytes) {
  if (part_ == part::header) {
    for (const std::byte byte : bytes) {
      header_ |= std::to_integer<std::uint32_t>(byte) << (8 * (zstd_block_header::bytes - remaining_));
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
  if (part_ == part::checksum || (last_ && !frame_.has_checksum)) {
    part_ = part::end;
  } else if (last_) {
    part_ = part::checksum;
    remaining_ = checksum_bytes;
  } else {
    part_ = part::header;
    remaining_ = zstd_block_header::bytes;
    header_ = 0;
  }
}

void zstd_blocks::enter_content() {
  const zstd_block_header header(header_);
  part_ = part::content;
  is_first_ = false;
  last_ = header.is_last;
  remaining_ = header.content_bytes();
  damaged_ = header.is_damaged();
}

}  // namespace gpuhist::io
