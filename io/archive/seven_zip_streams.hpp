// The packed streams of a 7z archive, as its list of members (its "header") describes them: read independently of the
// library that walks over the members.
#pragma once

#include "io/byte_reader.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace gpuhist::io {

/// A folder of 7z with one coder and one text: a packed stream, and what it decodes to.
struct seven_zip_stream {
  enum class method { copy, lzma, lzma2, deflate, bzip2 };

  std::uint64_t offset = 0;  ///< of its packed bytes, in the file
  std::uint64_t packed = 0;
  std::uint64_t bytes = 0;  ///< of the text; not 0
  std::uint32_t crc = 0;    ///< CRC-32 of the text
  method coder = method::copy;
  std::array<std::byte, 5> properties{};  ///< of the coder
  std::uint8_t number_of_properties = 0;
  std::uint64_t key = 0;  ///< of the text: seven_zip_key()
};

/// Identifies a text of an archive by its number, from 0 on, and the name of its file, in UTF-8. Keys of higher numbers
/// are higher, and every key of a number is higher than first_seven_zip_key(number).
std::uint64_t seven_zip_key(std::uint64_t number, std::string_view name);
std::uint64_t first_seven_zip_key(std::uint64_t number);

/// The streams from the first one on, in the order of the members, up to one of another kind: a folder with several
/// texts (a solid archive), filters, encryption, without a checksum, with more than `max_bytes` bytes, or a text that
/// is no regular file (a link). Nothing if the list needs more than `most_memory` bytes, if it is damaged, if it does
/// not fit the size of the file, or if any folder has no text or an empty one: the texts that libarchive then finds
/// depend on those that it decodes. Reads the file from any offset. Throws std::bad_alloc.
std::vector<seven_zip_stream> read_seven_zip_streams(byte_reader& file, std::size_t most_memory,
                                                     std::uint64_t max_bytes);

// The start header of a 7z archive, checked before libarchive reads the archive.

/// Returns the size of the list of members that the start header states; 0 if there is no list, or if the file does not
/// begin with a start header (a program that extracts itself). Throws input_error if the header is damaged or does not
/// fit the size of the file: libarchive treats some damaged lists as empty. Afterwards the file is at offset 0.
/// Precondition: `file` can seek.
std::uint64_t check_seven_zip_start(byte_reader& file);

}  // namespace gpuhist::io
