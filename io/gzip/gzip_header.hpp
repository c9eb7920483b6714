// Parses the header of a gzip member (RFC 1952, 2.3) as its bytes pass, and the block size that BGZF stores in it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace gpuhist::io {

/// The most text of a byte of deflate: 258 bytes of text for 2 bits.
inline constexpr std::uint64_t highest_deflate_ratio = 1032;

enum class gzip_header_status {
  needs_more,
  complete,
  not_gzip,        ///< the magic number differs
  unknown_method,  ///< method() is not deflate
  reserved_flags,  ///< flags() has reserved bits set
  wrong_checksum   ///< the header has a checksum that does not match
};

/// One header. Names, comments and extra fields are skipped and not kept: they may have any length.
class gzip_header {
 public:
  /// Takes the next bytes of the member, up to the end of the header or an error in it. Returns the number of bytes
  /// taken; all, if more are needed.
  std::size_t advance(std::span<const std::byte> bytes);

  [[nodiscard]] gzip_header_status status() const { return status_; }

  /// Bytes taken so far.
  [[nodiscard]] std::uint64_t size() const { return size_; }

  [[nodiscard]] unsigned method() const { return fixed_[2]; }
  [[nodiscard]] unsigned flags() const { return fixed_[3]; }

  /// The size of the whole member including this header, from the extra field "BC" of BGZF.
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
  std::uint32_t number_ = 0;  // value of the current numeric field, little endian
  unsigned field_bytes_ = 0;  // bytes of the current field so far
  std::uint32_t extra_remaining_ = 0;
  std::uint32_t subfield_ = 0;  // name (2 bytes) and length (2)
  unsigned subfield_bytes_ = 0;
  std::uint32_t subfield_remaining_ = 0;
  std::optional<std::size_t> bgzf_bytes_;
  std::uint32_t crc_ = 0;  // of all bytes before the checksum, if there is one
};

}  // namespace gpuhist::io
