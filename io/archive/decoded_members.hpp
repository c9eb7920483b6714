// Texts of members of an archive that were decoded ahead of the thread that reads the archive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace gpuhist::io {

/// Used by the thread of one archive_reader.
class decoded_members {
 public:
  struct text {
    std::span<const std::byte> bytes;  ///< not empty
    std::uint32_t crc = 0;             ///< CRC-32 of the bytes
  };

  decoded_members() = default;
  decoded_members(const decoded_members&) = delete;
  decoded_members& operator=(const decoded_members&) = delete;
  virtual ~decoded_members() = default;

  /// The text of the member whose packed bytes begin at this offset of the archive, valid until the next call; for 7z,
  /// the text with this seven_zip_key(). Nothing if it was not decoded ahead, or if there is any doubt about it. May
  /// block. Offsets of calls increase.
  virtual std::optional<text> take(std::uint64_t data_at) = 0;
};

}  // namespace gpuhist::io
