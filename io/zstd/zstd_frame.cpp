// The header of a zstd frame:
//
//   magic number (4) | descriptor (1) | window (0 or 1) | dictionary id (0, 1, 2, 4) | content size (0, 1, 2, 4, 8)
//
//   descriptor, bits:  7 6           5               4       3         2         1 0
//                      content size  single segment  unused  reserved  checksum  dictionary id
#include "io/zstd/zstd_frame.hpp"

#include "io/frame_magic.hpp"

#include <array>

namespace gpuhist::io {
namespace {

constexpr std::uint32_t zstd_magic = 0xFD2FB528U;
constexpr std::uint32_t skippable_dictionary_magic = 0x184D2A5DU;

/// RFC 8878, 3.1.1.1.2: 10 to 41 bits, in steps of an eighth.
std::uint64_t window_size(std::byte descriptor) {
  const auto value = std::to_integer<unsigned>(descriptor);
  const std::uint64_t base = std::uint64_t{1} << (10U + (value >> 3U));
  return base + base / 8 * (value & 7U);
}

zstd_header_result parse_skippable(std::span<const std::byte> bytes) {
  const std::optional<std::uint32_t> length = skippable_bytes(bytes);
  if (!length) return {};
  zstd_frame_header header;
  header.skippable = true;
  header.skip_bytes = *length;
  header.header_bytes = skippable_header_bytes;
  return {.status = header_status::complete, .header = header};
}

}  // namespace

bool may_begin_with_dictionary(std::span<const std::byte> first_bytes) {
  return may_begin(first_bytes, skippable_dictionary_magic);
}

zstd_header_result parse_zstd_header(std::span<const std::byte> bytes) {
  if (!bytes.empty() && may_begin_skippable(bytes)) return parse_skippable(bytes);
  if (!may_begin(bytes, zstd_magic)) return {.status = header_status::not_zstd, .header = {}};
  if (bytes.size() <= magic_bytes) return {};

  const auto descriptor = std::to_integer<unsigned>(bytes[magic_bytes]);
  const bool single_segment = (descriptor & 0x20U) != 0;
  if ((descriptor & 0x08U) != 0) return {.status = header_status::reserved_bit, .header = {}};

  const std::size_t window_length = single_segment ? 0 : 1;
  const std::size_t dictionary_length = std::array<std::size_t, 4>{0, 1, 2, 4}[descriptor & 3U];
  const std::size_t content_length =
      std::array<std::size_t, 4>{single_segment ? std::size_t{1} : 0, 2, 4, 8}[descriptor >> 6U];

  zstd_frame_header header;
  header.header_bytes = magic_bytes + 1 + window_length + dictionary_length + content_length;
  header.has_checksum = (descriptor & 0x04U) != 0;
  if (bytes.size() < header.header_bytes) return {};

  const std::span<const std::byte> fields = bytes.subspan(magic_bytes + 1);
  header.dictionary_id = static_cast<std::uint32_t>(little_endian(fields.subspan(window_length, dictionary_length)));
  if (content_length != 0) {
    const std::uint64_t value = little_endian(fields.subspan(window_length + dictionary_length, content_length));
    header.content_bytes = content_length == 2 ? value + 256 : value;  // two bytes store the size minus 256
  }
  header.window_bytes = single_segment ? *header.content_bytes : window_size(fields[0]);
  return {.status = header_status::complete, .header = header};
}

}  // namespace gpuhist::io
