// The header of a gzip member (RFC 1952, 2.3), read as its bytes go by, and the size of the block that BGZF puts in it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace gpuhist::io {

enum class gzip_header_status {
  needs_more,
  complete,
  not_gzip,        ///< the magic number is another
  unknown_method,  ///< method() is not deflate
  reserved_flags,  ///< flags() has bits that have no meaning
  wrong_checksum   ///< the header has a checksum, which does not match
};

/// One header. Names, comments and extra fields are walked, never kept: they may be of any length.
class gzip_header {
 public:
  /// Goes on by the next bytes of the member, to the end of the header or to what is wrong with it. Returns how many
  /// were taken; all where more are needed.
  std::size_t advance(std::span<const std::byte> bytes);

  [[nodiscard]] gzip_header_status status() const { return status_; }

  /// Bytes taken so far.
  [[nodiscard]] std::uint64_t size() const { return size_; }

  [[nodiscard]] unsigned method() const { return fixed_[2]; }
  [[nodiscard]] unsigned flags() const { return fixed_[3]; }

  /// Of the whole member, this header included, as the extra field "BC" of BGZF has it.
  [[nodiscard]] std::optional<std::size_t> bgzf_bytes() const { return bgzf_bytes_; }

 private:
  enum class field { fixed, extra_length, extra, name, comment, checksum, end };

  void take(std::uint8_t byte);
  void take_fixed(std::uint8_t byte);
  void take_extra(std::uint8_t byte);
  void take_subfield(std::uint8_t byte);
  void enter(field next);
  void enter_next();

  gzip_header_status status_ = gzip_header_status::needs_more;
  field field_ = field::fixed;
  std::array<std::uint8_t, 10> fixed_{};
  std::uint64_t size_ = 0;
  std::uint32_t number_ = 0;  // little endian, of the field that is one
  unsigned place_ = 0;        // bytes of it
  std::uint32_t extra_left_ = 0;
  std::uint32_t subfield_ = 0;  // its name (2 bytes) and length (2)
  unsigned subfield_place_ = 0;
  std::uint32_t subfield_left_ = 0;
  std::optional<std::size_t> bgzf_bytes_;
  std::uint32_t crc_ = 0;  // of all bytes before the checksum
};

}  // namespace gpuhist::io
