// The packed streams of a 7z archive, as its list of members (its "header") describes them: read independently of the
// library that walks over the members.
#pragma once

#include "io/byte_reader.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
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
};

/// The streams from the first one on, in the order of the members, up to one of another kind: a folder with several
/// texts (a solid archive), filters, encryption, without a checksum, or with more than `max_bytes` bytes. Empty texts
/// are left out. Nothing if there are more than `most` streams, if the list is damaged, or if it does not fit the size
/// of the file. Reads the file from any offset. Throws std::bad_alloc.
std::vector<seven_zip_stream> read_seven_zip_streams(byte_reader& file, std::size_t most, std::uint64_t max_bytes);

}  // namespace gpuhist::io
