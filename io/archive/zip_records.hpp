// The records of a zip archive, parsed: end records, the entries of the directory, and the fields of headers.
#pragma once

#include "io/byte_reader.hpp"
#include "io/failure.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuhist::io {

inline constexpr std::string_view zip_local_magic = "PK\x03\x04";
inline constexpr std::string_view zip_entry_magic = "PK\x01\x02";
inline constexpr std::string_view zip_end_magic = "PK\x05\x06";
inline constexpr std::string_view zip64_end_magic = "PK\x06\x06";
inline constexpr std::string_view zip_split_magic = "PK\x07\x08PK\x03\x04";  ///< of an archive that was to be split
inline constexpr std::size_t zip_local_bytes = 30;     ///< of a local header, without name and extra fields
inline constexpr std::uint64_t in_zip64 = 0xFFFFFFFF;  ///< the value of this 32-bit field is in an extra field

/// A little-endian number of `size` bytes. Precondition: `bytes` has them.
std::uint64_t zip_number(std::span<const std::byte> bytes, std::size_t at, std::size_t size);

bool has_magic(std::span<const std::byte> bytes, std::string_view magic);

/// Of a member's name.
std::uint64_t zip_name_hash(std::span<const std::byte> name);

/// Whether a file that can seek ends with the end record of an archive in several files.
bool ends_split_zip(byte_reader& file);

/// Whether a file that can seek begins with the marker of an archive that was to be split.
bool begins_split_zip(byte_reader& file);

/// An entry of the directory.
struct zip_entry {
  std::uint64_t header_at = 0;  ///< offset of the local header, as stated
  std::uint64_t packed = 0;     ///< bytes of the member in the archive
  std::uint64_t bytes = 0;      ///< of its text
  std::uint64_t name_hash = 0;
  std::uint32_t crc = 0;
  std::uint16_t name_bytes = 0;
  std::uint16_t flags = 0;
  std::uint16_t method = 0;
  std::uint16_t type = 0;  ///< file type bits of a Unix mode; 0 if there is none
};

/// The directory, as it was read.
struct zip_listing {
  std::vector<zip_entry> entries;
  std::uint64_t end = 0;  ///< offset of its end
};

/// The end record, or the zip64 end record if there is one.
struct zip_end_record {
  std::uint64_t entries = 0;
  std::uint64_t directory_bytes = 0;
  std::uint64_t directory_at = 0;  ///< as stated, which may not be its real offset
};

/// Reads bytes in sequence, with lookahead.
class byte_sequence {
 public:
  /// `at`: the offset of the next byte of the input, which is borrowed.
  byte_sequence(byte_reader& input, std::uint64_t at) : input_(input), at_(at) {}

  /// The next bytes; fewer than `size` only at the end. Valid until the next call.
  std::span<const std::byte> ahead(std::size_t size);

  /// The next bytes, as far as they were read. Valid until the next call of ahead().
  [[nodiscard]] std::span<const std::byte> buffered() const { return std::span(buffer_).subspan(passed_); }

  void pass(std::size_t size) {
    passed_ += size;
    at_ += size;
  }

  [[nodiscard]] std::uint64_t at() const { return at_; }

 private:
  byte_reader& input_;
  std::uint64_t at_;
  std::vector<std::byte> buffer_;
  std::size_t passed_ = 0;
};

/// Reads the records of an archive. All members throw input_error for damage.
class zip_records {
 public:
  /// Borrows the archive.
  explicit zip_records(byte_reader& input) : input_(input) {}

  /// Throws the error for damage at this offset.
  [[noreturn]] void fail(const std::string& message, std::uint64_t at, lack missing = lack::nothing) const;

  /// Fewer bytes than `out` has only at the end. Precondition: the archive is seekable.
  std::size_t read_at(std::uint64_t at, std::span<std::byte> out);

  /// The offset of the end record of a seekable archive.
  std::uint64_t find_end(std::uint64_t file_bytes);

  /// The offset of the directory of a seekable archive.
  std::uint64_t find_directory(std::uint64_t end_at);

  /// Reads the directory of at most `most` entries, with its signature.
  [[nodiscard]] zip_listing read_directory(byte_sequence& input, std::size_t most) const;

  /// Reads the zip64 end record and its locator, if there are any, and the end record with its comment.
  [[nodiscard]] zip_end_record read_ends(byte_sequence& input) const;

  /// Only zeros follow.
  void expect_nothing_more(byte_sequence& input) const;

 private:
  zip_entry take_entry(byte_sequence& input) const;
  void read_zip64_sizes(zip_entry& entry, std::span<const std::byte> extra, std::uint64_t at) const;

  byte_reader& input_;
};

}  // namespace gpuhist::io
