#include "io/zstd/zstd_layout.hpp"

#include "io/frame_magic.hpp"

#include <algorithm>
#include <array>

namespace gpuhist::io {
namespace {

constexpr std::size_t checksum_bytes = 4;

bool has(const byte_access& bytes, std::uint64_t at, std::uint64_t count) {
  return at <= bytes.size && count <= bytes.size - at;
}

// Precondition: the bytes are there.
template <std::size_t Bytes>
std::uint32_t number_at(const byte_access& bytes, std::uint64_t at) {
  std::array<std::byte, Bytes> read{};
  bytes.copy(at, read);
  return static_cast<std::uint32_t>(little_endian(read));
}

// Fills `blocks` and moves `end` past the last one. False: a block is incomplete or invalid.
bool lay_out_blocks(const byte_access& bytes, zstd_layout& to) {
  for (;;) {
    if (!has(bytes, to.end, zstd_block_header::bytes)) return false;
    const zstd_block_header header(number_at<zstd_block_header::bytes>(bytes, to.end));
    to.end += zstd_block_header::bytes;
    if (header.is_damaged() || !has(bytes, to.end, header.content_bytes())) return false;
    to.blocks.push_back({.at = to.end, .header = header});
    to.end += header.content_bytes();
    if (header.is_last) return true;
  }
}

}  // namespace

byte_access access_to(std::span<const std::byte> bytes) {
  return {.size = bytes.size(), .copy = [bytes](std::uint64_t at, std::span<std::byte> to) {
            std::ranges::copy(bytes.subspan(static_cast<std::size_t>(at), to.size()), to.begin());
          }};
}

std::optional<zstd_layout> lay_out_zstd_frame(const byte_access& bytes, std::uint64_t at) {
  if (at >= bytes.size) return std::nullopt;
  std::array<std::byte, zstd_max_header_bytes> begin{};
  const auto known =
      std::span(begin).first(static_cast<std::size_t>(std::min<std::uint64_t>(begin.size(), bytes.size - at)));
  bytes.copy(at, known);
  const zstd_header_result parsed = parse_zstd_header(known);
  if (parsed.status != header_status::complete) return std::nullopt;
  zstd_layout layout{.header = parsed.header, .blocks = {}, .checksum = {}, .end = at + parsed.header.header_bytes};
  if (parsed.header.skippable) {
    if (!has(bytes, layout.end, parsed.header.skip_bytes)) return std::nullopt;
    layout.end += parsed.header.skip_bytes;
    return layout;
  }
  if (!lay_out_blocks(bytes, layout)) return std::nullopt;
  if (parsed.header.has_checksum) {
    if (!has(bytes, layout.end, checksum_bytes)) return std::nullopt;
    layout.checksum = number_at<checksum_bytes>(bytes, layout.end);
    layout.end += checksum_bytes;
  }
  return layout;
}

}  // namespace gpuhist::io
