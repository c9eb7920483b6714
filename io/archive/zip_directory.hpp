// Parses the end record and the directory of a zip archive independently of the library that walks over its members,
// and compares them with the result of that walk.
#pragma once

#include "io/byte_reader.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace gpuhist::io {

/// One local header that a walk over a zip archive found; headers are in the order of their offsets.
struct zip_walked {
  enum class kind {
    text,        ///< a file that was read to its end
    unread,      ///< a file that could not be read, or was not read to its end
    not_a_file,  ///< a directory, link or device
  };

  kind type = kind::unread;
  std::uint64_t bytes = 0;  ///< length of the text
  std::uint32_t crc = 0;    ///< CRC-32 of the text
};

/// The local header of a member of an archive, with the bytes before the next local header, or before the directory.
struct zip_local {
  std::uint64_t header_at = 0;
  std::uint64_t data_at = 0;  ///< offset of the packed bytes
  std::uint64_t name_hash = 0;
  std::uint32_t crc = 0;
  std::uint32_t packed = 0;  ///< as stated: in_zip64, or 0 if the descriptor states it
  std::uint32_t bytes = 0;   ///< the same
  std::uint16_t name_bytes = 0;
  std::uint16_t flags = 0;
  std::uint16_t method = 0;
  std::uint16_t tail_bytes = 0;
  std::array<std::byte, 24> tail{};  ///< a data descriptor, or the end of a signing block
};

/// The remedy for a member whose end is not found in an archive that is read once.
inline constexpr std::string_view zip_needs_file =
    "; the archive states the length after the member: give it as a file of its own";

/// Parses a local header. Precondition: `header` has zip_local_bytes and the name.
zip_local zip_local_of(std::span<const std::byte> header, std::uint64_t at);

/// Compares the walk with the end record, the zip64 records, the directory and all local headers of a seekable archive.
/// Throws input_error if they differ, if entries overlap or share a local header, or if bytes belong to none of them.
/// Memory: 56 bytes per entry, and no more entries than were walked.
void check_zip_file(byte_reader& file, std::span<const zip_walked> walked);

/// Makes the same comparison for an archive that is read once. `locals`: the local headers of the walk. `rest` begins
/// with the directory, at offset `at` of the archive.
void check_zip_stream(byte_reader& rest, std::uint64_t at, std::span<const zip_walked> walked,
                      std::span<const zip_local> locals);

}  // namespace gpuhist::io
