// The common part of zstd and lz4 headers: little-endian numbers, magic numbers of four bytes, and skippable frames,
// which both formats may contain.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace gpuhist::io {

inline constexpr std::size_t magic_bytes = 4;

inline std::uint64_t little_endian(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = (value << 8U) | std::to_integer<std::uint64_t>(bytes[i]);
  return value;
}

/// Whether `bytes` may be the start of `magic`; only the bits of `mask` are compared.
inline bool may_begin(std::span<const std::byte> bytes, std::uint32_t magic, std::uint32_t mask = 0xFFFFFFFFU) {
  const std::size_t known = std::min(bytes.size(), magic_bytes);
  const std::uint64_t seen = (std::uint64_t{1} << (8 * known)) - 1;
  return ((little_endian(bytes.first(known)) ^ magic) & mask & seen) == 0;
}

/// 0x184D2A50 to 0x184D2A5F.
inline bool may_begin_skippable(std::span<const std::byte> bytes) { return may_begin(bytes, 0x184D2A50U, 0xFFFFFFF0U); }

/// Length of the header of a skippable frame: magic number and length field.
inline constexpr std::size_t skippable_header_bytes = magic_bytes + 4;

/// The content length of a skippable frame; nothing while its header is incomplete.
inline std::optional<std::uint32_t> skippable_bytes(std::span<const std::byte> bytes) {
  if (bytes.size() < skippable_header_bytes) return std::nullopt;
  return static_cast<std::uint32_t>(little_endian(bytes.subspan(magic_bytes, 4)));
}

}  // namespace gpuhist::io
