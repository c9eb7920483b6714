// The members of an archive in a file that can be decoded in any order, one by one. The directory of the archive
// locates them. One implementation for each kind of archive.
#pragma once

#include "io/archive/whole_inflater.hpp"
#include "io/byte_reader.hpp"
#include "io/source.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace gpuhist::io {

/// A member, as the directory lists it.
struct listed_member {
  std::uint64_t position = 0;  ///< before that of its text (decoded_members::take), and after that of the member before
  std::uint64_t packed = 0;    ///< bytes in the file
  std::uint64_t bytes = 0;     ///< of its text; not 0
  std::uint32_t crc = 0;       ///< CRC-32 of its text
  std::size_t number = 0;      ///< for the decoder

  /// Bytes of memory to decode it: packed bytes with padding, and then text.
  [[nodiscard]] std::size_t room() const { return static_cast<std::size_t>(packed + bytes) + whole_inflater::padding; }
};

/// Used by one thread at a time.
class member_decoder {
 public:
  member_decoder() = default;
  member_decoder(const member_decoder&) = delete;
  member_decoder& operator=(const member_decoder&) = delete;
  virtual ~member_decoder() = default;

  /// Reads and decodes the member; its text is then the last `member.bytes` bytes of `room`, which has member.room()
  /// bytes. Returns the position of the text. Nothing if anything does not agree with the directory, or if the packed
  /// bytes are not exactly a text with this size and CRC-32. Throws std::bad_alloc, and input_error if reading fails.
  virtual std::optional<std::uint64_t> decode(const file_source& file, const listed_member& member,
                                              std::span<std::byte> room) = 0;
};

/// Its members are in the order of their positions.
struct member_list {
  std::vector<listed_member> members{};
  std::size_t list_bytes = 0;  ///< of memory, for the list
  std::size_t work_bytes = 0;  ///< of memory of a decoder, besides listed_member::room()
  std::function<std::unique_ptr<member_decoder>()> make_decoder{};
};

/// Makes the list of an archive. It needs at most `most_list_bytes` of memory, and lists members of up to `max_text`
/// bytes. It is empty if the directory is inconsistent. Reads the file from any offset. Throws std::bad_alloc.
using member_lister = member_list (*)(byte_reader& file, std::size_t most_list_bytes, std::uint64_t max_text);

}  // namespace gpuhist::io
