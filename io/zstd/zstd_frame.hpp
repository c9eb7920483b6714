// Parses the header of a zstd frame (RFC 8878, 3.1.1) without libzstd: the memory for a frame must be known before it
// is decoded, and its end before it has been decoded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace gpuhist::io {

/// The maximum length of a header, magic number included.
inline constexpr std::size_t zstd_max_header_bytes = 18;

struct zstd_frame_header {
  bool skippable = false;
  std::uint64_t skip_bytes = 0;  ///< length of the content of a skippable frame
  std::size_t header_bytes = 0;  ///< length of the header, magic number included
  std::uint64_t window_bytes = 0;
  std::optional<std::uint64_t> content_bytes;
  std::uint32_t dictionary_id = 0;  ///< 0: none
  bool has_checksum = false;

  bool operator==(const zstd_frame_header&) const = default;
};

enum class header_status { complete, needs_more, not_zstd, reserved_bit };

struct zstd_header_result {
  header_status status = header_status::needs_more;
  zstd_frame_header header;
};

/// Whether the input may begin with a dictionary for all of its frames (zstd_head). `first_bytes`: of the input.
[[nodiscard]] bool may_begin_with_dictionary(std::span<const std::byte> first_bytes);

/// Parses the header at the front of `bytes`. Returns `not_zstd` as soon as the magic number is ruled out.
zstd_header_result parse_zstd_header(std::span<const std::byte> bytes);

}  // namespace gpuhist::io
