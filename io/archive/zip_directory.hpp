// The end record and the directory of a zip archive, parsed independently of the library that walks over its members,
// and compared with what that walk found.
#pragma once

#include "io/byte_reader.hpp"

#include <cstdint>
#include <span>

namespace gpuhist::io {

/// One local header that a walk over a zip archive found, in the order of their offsets.
struct zip_walked {
  enum class kind {
    text,     ///< a file, whose bytes were read to the end
    unread,   ///< a file that could not be read, or was not read to its end
    no_file,  ///< a directory, link or device
  };

  kind what = kind::unread;
  std::uint64_t bytes = 0;  ///< of the text
  std::uint32_t crc = 0;    ///< CRC-32 of the text
};

/// Compares the walk with the end record, the zip64 records, the directory and all local headers of an archive that is
/// a file. Throws input_error where they differ, where entries overlap or share a local header, and where bytes belong
/// to none of them. Memory: 56 bytes an entry, and no more entries than were walked.
void check_zip_file(byte_reader& file, std::span<const zip_walked> walked);

/// The same for an archive that is read once, from its directory on, which is what `rest` begins with: without the
/// local headers, which are gone. `at`: the offset of the first byte of `rest` in the archive.
void check_zip_stream(byte_reader& rest, std::uint64_t at, std::span<const zip_walked> walked);

}  // namespace gpuhist::io
