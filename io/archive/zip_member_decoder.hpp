// Decodes single members of a zip archive in a file, in any order. The directory locates them.
#pragma once

#include "io/archive/member_list.hpp"
#include "io/archive/whole_inflater.hpp"
#include "io/archive/zip_records.hpp"
#include "io/byte_reader.hpp"
#include "io/source.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gpuhist::io {

/// The members that zip_member_decoder may be able to decode, in the order of their local headers: deflated, not
/// encrypted, with a text of 4 KiB to `max_text` bytes. header_at is their offset in the file. Empty if the directory
/// is not consistent or lists more than `most` entries. Reads the file from any offset. Throws std::bad_alloc.
std::vector<zip_entry> decodable_zip_members(byte_reader& file, std::size_t most, std::uint64_t max_text);

/// Used by one thread at a time; keeps its memory.
class zip_member_decoder {
 public:
  static constexpr std::size_t work_bytes = std::size_t{128} << 10U;  ///< memory of a decoder

  /// Bytes of memory for decode(): packed bytes with padding, and then text.
  static std::size_t room_of(const zip_entry& member) {
    return static_cast<std::size_t>(member.packed + member.bytes) + whole_inflater::padding;
  }

  /// Reads and decodes the member; its text is then the last `member.bytes` bytes of `room`, which has room_of() bytes.
  /// Returns the offset of its packed bytes. Nothing if its local header differs from the entry of the directory, or if
  /// the packed bytes are not exactly a text with the size and CRC-32 of the entry. Throws std::bad_alloc, and
  /// input_error if reading fails.
  std::optional<std::uint64_t> decode(const file_source& file, const zip_entry& member, std::span<std::byte> room);

 private:
  whole_inflater inflater_;
  std::vector<std::byte> header_;
};

/// The member_lister of zip. The position of a text is the offset of its packed bytes.
member_list list_zip_members(byte_reader& file, std::size_t most_list_bytes, std::uint64_t max_text);

}  // namespace gpuhist::io
