// Parses the end record and the directory of a zip archive independently of the library that walks over its members,
// and compares them with the result of that walk.
#pragma once

#include "io/byte_reader.hpp"

#include <cstdint>
#include <span>

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

/// Compares the walk with the end record, the zip64 records, the directory and all local headers of a seekable archive.
/// Throws input_error if they differ, if entries overlap or share a local header, or if bytes belong to none of them.
/// Memory: 56 bytes per entry, and no more entries than were walked.
void check_zip_file(byte_reader& file, std::span<const zip_walked> walked);

/// Makes the same comparison for an archive that is read once, except for the local headers, which have already passed.
/// `rest` begins with the directory, at offset `at` of the archive.
void check_zip_stream(byte_reader& rest, std::uint64_t at, std::span<const zip_walked> walked);

}  // namespace gpuhist::io
