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

// Fills `blocks` and moves `end` past the last one. False: a block is incomplete or invalid.
bool lay_out_blocks(const byte_access& bytes, zstd_layout& to) {
  for (;;) {
    const std::optional<zstd_block_header> header = zstd_block_header_at(bytes, to.end);
    if (!header) return false;
    to.end += zstd_block_header::bytes;
    if (header->is_damaged() || !has(bytes, to.end, header->content_bytes())) return false;
    to.blocks.push_back({.at = to.end, .header = *header});
    to.end += header->content_bytes();
    if (header->is_last) return true;
  }
}

}  // namespace

byte_access access_to(std::span<const std::byte> bytes) {
  return {.size = bytes.size(), .copy = [bytes](std::uint64_t at, std::span<std::byte> to) {
            std::ranges::copy(bytes.subspan(static_cast<std::size_t>(at), to.size()), to.begin());
          }};
}

std::uint32_t number_at(const byte_access& bytes, std::uint64_t at, std::size_t count) {
  std::array<std::byte, sizeof(std::uint32_t)> read{};
  bytes.copy(at, std::span(read).first(count));
  return static_cast<std::uint32_t>(little_endian(read));
}

std::optional<zstd_block_header> zstd_block_header_at(const byte_access& bytes, std::uint64_t at) {
  if (!has(bytes, at, zstd_block_header::bytes)) return std::nullopt;
  return zstd_block_header(number_at(bytes, at, zstd_block_header::bytes));
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
    layout.checksum = number_at(bytes, layout.end, checksum_bytes);
    layout.end += checksum_bytes;
  }
  return layout;
}

}  // namespace gpuhist::io
