// The header of an lz4 frame:
//
//   magic number (4) | FLG | BD | content size (0, 8) | dictionary id (0, 4) | checksum
//
//   FLG, bits: 7 6      5                   4                3             2                 1         0
//              version  independent blocks  block checksums  content size  content checksum  reserved  dictionary id
//   BD, bits:  7         6 5 4       3 2 1 0
//              reserved  block size  reserved
#include "io/lz4/lz4_frame.hpp"

#include "io/frame_magic.hpp"

namespace gpuhist::io {
namespace {

constexpr std::uint32_t frame_magic = 0x184D2204U;
constexpr std::uint32_t legacy_magic = 0x184C2102U;

lz4_header_result parse_frame(std::span<const std::byte> bytes) {
  constexpr std::size_t descriptor_bytes = 2;
  if (bytes.size() < magic_bytes + descriptor_bytes) return {};
  const auto flags = std::to_integer<unsigned>(bytes[magic_bytes]);
  const auto sizes = std::to_integer<unsigned>(bytes[magic_bytes + 1]);
  if (flags >> 6U != 1) return {.status = lz4_header_status::unknown_version, .header = {}};
  if ((flags & 0x02U) != 0 || (sizes & 0x8FU) != 0) return {.status = lz4_header_status::reserved_bits, .header = {}};
  const unsigned size_code = sizes >> 4U;  // 4 to 7: 64 KiB, 256 KiB, 1 MiB, 4 MiB
  if (size_code < 4) return {.status = lz4_header_status::wrong_block_size, .header = {}};

  const std::size_t content_size_bytes = (flags & 0x08U) != 0 ? 8 : 0;
  const std::size_t dictionary_bytes = (flags & 0x01U) != 0 ? 4 : 0;
  lz4_frame_header header;
  header.header_bytes = magic_bytes + descriptor_bytes + content_size_bytes + dictionary_bytes + 1;
  if (bytes.size() < header.header_bytes) return {};
  header.block_bytes = 1U << (8U + 2U * size_code);
  header.linked_blocks = (flags & 0x20U) == 0;
  header.block_checksums = (flags & 0x10U) != 0;
  header.content_checksum = (flags & 0x04U) != 0;
  header.text_bytes = little_endian(bytes.subspan(magic_bytes + descriptor_bytes, content_size_bytes));
  header.dictionary_id = static_cast<std::uint32_t>(
      little_endian(bytes.subspan(magic_bytes + descriptor_bytes + content_size_bytes, dictionary_bytes)));
  return {.status = lz4_header_status::complete, .header = header};
}

lz4_header_result parse_skippable(std::span<const std::byte> bytes) {
  const std::optional<std::uint32_t> length = skippable_bytes(bytes);
  if (!length) return {};
  lz4_frame_header header;
  header.kind = lz4_kind::skippable;
  header.header_bytes = skippable_header_bytes;
  header.skip_bytes = *length;
  return {.status = lz4_header_status::complete, .header = header};
}

lz4_header_result parse_legacy(std::span<const std::byte> bytes) {
  if (bytes.size() < magic_bytes) return {};
  lz4_frame_header header;
  header.kind = lz4_kind::legacy;
  header.header_bytes = magic_bytes;
  header.block_bytes = lz4_legacy_block_bytes;
  return {.status = lz4_header_status::complete, .header = header};
}

}  // namespace

lz4_header_result parse_lz4_header(std::span<const std::byte> bytes) {
  if (bytes.empty()) return {};
  if (may_begin(bytes, frame_magic)) return parse_frame(bytes);
  if (may_begin_skippable(bytes)) return parse_skippable(bytes);
  if (may_begin(bytes, legacy_magic)) return parse_legacy(bytes);
  return {.status = lz4_header_status::not_lz4, .header = {}};
}

void lz4_blocks::advance(std::span<const std::byte> bytes) {
  if (part_ == part::size) {
    for (const std::byte byte : bytes) {
      size_ |= std::to_integer<std::uint32_t>(byte) << (8 * (size_bytes - remaining_));
      --remaining_;
    }
  } else {
    remaining_ -= bytes.size();
  }
  while (remaining_ == 0 && part_ != part::end) enter_next();
}

void lz4_blocks::enter(part next, std::size_t bytes) {
  part_ = next;
  remaining_ = bytes;
}

void lz4_blocks::enter_next() {
  constexpr std::size_t checksum_bytes = 4;
  switch (part_) {
    case part::size:
      leave_size();
      break;
    case part::content:
      enter(part::block_checksum, header_.block_checksums ? checksum_bytes : 0);
      break;
    case part::block_checksum:
      size_ = 0;
      enter(part::size, size_bytes);
      break;
    case part::content_checksum:
    case part::end:
      enter(part::end, 0);
      break;
  }
}

void lz4_blocks::leave_size() {
  if (size_ == 0) {
    enter(part::content_checksum, header_.content_checksum ? 4 : 0);
    return;
  }
  const std::uint32_t bytes = size_ & ~lz4_stored_bit;
  damaged_ = bytes > header_.block_bytes;
  enter(part::content, bytes);
}

}  // namespace gpuhist::io
