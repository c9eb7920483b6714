// Follows the headers of a tar archive independently of libarchive. libarchive applies a header to a member of another
// archive, accepts an archive that ends after a header, and keeps only its last warning.
#pragma once

#include "io/failure.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace gpuhist::io {

/// Whether the checksum field of a header of 512 bytes is the sum of its bytes, with the field itself as spaces. Some
/// old archives sum signed bytes.
bool has_tar_checksum(std::string_view header);

/// Takes all bytes between the contents of two members: zero blocks, special headers (pax, long names, ACL, volume
/// label) with their bodies, and the header of the next member.
class tar_headers {
 public:
  struct error {
    std::string cause;
    std::uint64_t at = 0;
    failure_kind kind = failure_kind::damaged;
  };

  /// To be called when the content of a member has ended: headers begin at this offset.
  void begin(std::uint64_t at);

  /// Takes bytes of the archive that begin at this offset. Bytes before the offset of begin(), or after the header of a
  /// member, are ignored.
  void advance(std::uint64_t offset, std::span<const std::byte> bytes);

  /// The first error in the headers since begin(). A header whose checksum does not match is not an error here:
  /// libarchive reports it.
  [[nodiscard]] const std::optional<error>& first_error() const { return error_; }

  /// Whether the header of a member was found.
  [[nodiscard]] bool has_member() const { return phase_ == phase::member; }

  /// Whether the archive may end here: there are zero blocks, and no special header before them lacks its member. A
  /// single zero block is no end in an archive in which one precedes a header.
  [[nodiscard]] bool has_end_mark() const;

  /// Whether the end is followed by the index that pixz appends to an archive.
  [[nodiscard]] bool has_index() const;

  /// Whether the bytes so far end within a header, or after a special header that lacks its member.
  [[nodiscard]] bool is_within_header() const;

  /// Offset of the last header.
  [[nodiscard]] std::uint64_t header_at() const { return header_at_; }

  /// Offset of the first header since the last zero block; nothing if there is none.
  [[nodiscard]] std::optional<std::uint64_t> first_header_at() const { return first_header_at_; }

  /// Offset after the content of the member and its padding.
  [[nodiscard]] std::uint64_t content_end() const { return at_ + content_bytes_; }

  /// Whether a header states that the archive is a volume that begins with the rest of a file (GNU tar, pax format).
  [[nodiscard]] bool continues_file() const { return continues_file_; }

 private:
  enum class phase { header, special, sparse_map, member, index, lost };

  void expect(phase next, std::uint64_t bytes);
  void finish_part();
  void take_block();
  void take_zero_block();
  void take_special(char type);
  void take_special_body();
  void take_member();
  void take_pax_records(std::string_view records);
  void take_pax_record(std::string_view key, std::string_view value);
  void fail(std::string cause, std::uint64_t at, failure_kind kind = failure_kind::damaged);
  [[nodiscard]] std::optional<std::uint64_t> size_field() const;

  phase phase_ = phase::header;
  std::uint64_t at_ = 0;           // offset in the archive
  std::uint64_t remaining_ = 512;  // missing bytes of the current part
  std::string part_;
  std::optional<error> error_;

  bool zeros_precede_members_ = false;  // a single zero block was followed by a header

  // Since begin():
  std::uint64_t header_at_ = 0;
  std::optional<std::uint64_t> first_header_at_;
  std::uint64_t zero_bytes_ = 0;  // in whole blocks, after the last header
  unsigned headers_ = 0;
  char type_ = 0;                          // of the last header
  std::uint64_t special_bytes_ = 0;        // size of its body
  std::optional<std::uint64_t> dangling_;  // offset of the last special header that still lacks its member
  bool has_pax_ = false;
  bool continues_file_ = false;
  std::string sparse_major_;
  std::string sparse_minor_;
  std::optional<std::uint64_t> pax_bytes_;
  std::uint64_t content_bytes_ = 0;
};

}  // namespace gpuhist::io
