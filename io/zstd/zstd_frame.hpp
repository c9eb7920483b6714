// The header of a zstd frame (RFC 8878, 3.1.1), read without libzstd: what a frame needs must be known before it is
// decoded, and later where it ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace gpuhist::io {

/// The longest header there is, magic number included.
inline constexpr std::size_t zstd_max_header_bytes = 18;

struct zstd_frame_header {
  bool skippable = false;
  std::uint64_t skip_bytes = 0;  ///< skippable frames: the length of what follows the header
  std::size_t header_bytes = 0;  ///< length of the header itself, magic number included
  std::uint64_t window_bytes = 0;
  std::optional<std::uint64_t> content_bytes;
  std::uint32_t dictionary_id = 0;  ///< 0: none
  bool has_checksum = false;
};

enum class header_status { complete, needs_more, not_zstd, reserved_bit };

struct zstd_header_result {
  header_status status = header_status::needs_more;
  zstd_frame_header header;
};

/// Parses the header at the front of `bytes`. `not_zstd` as soon as the magic number cannot be one.
zstd_header_result parse_zstd_header(std::span<const std::byte> bytes);

}  // namespace gpuhist::io
