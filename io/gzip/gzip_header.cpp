//   1F 8B | method | flags | time (4) | extra flags | system
//   | length (2), extra      with flag 4: subfields of name (2), length (2), content
//   | name, 0                with flag 8
//   | comment, 0             with flag 16
//   | checksum (2)           with flag 2: the low half of the CRC-32 of all bytes before it
#include "io/gzip/gzip_header.hpp"

#include <isa-l/crc.h>

#include <algorithm>
#include <cstring>

namespace gpuhist::io {
namespace {

constexpr std::array<std::uint8_t, 2> magic{0x1F, 0x8B};
constexpr std::uint8_t deflate = 8;

constexpr unsigned has_checksum = 2;
constexpr unsigned has_extra = 4;
constexpr unsigned has_name = 8;
constexpr unsigned has_comment = 16;
constexpr unsigned reserved = 0xE0;

/// "BC" and two bytes of content: the size of the member minus one.
constexpr std::uint32_t bgzf_subfield = 'B' | 'C' << 8U | 2U << 16U;

// Whether a header without further fields begins here, as most do.
bool is_short(std::span<const std::byte> bytes) {
  constexpr std::size_t size = 10;
  constexpr std::array<std::byte, 4> begin{std::byte{magic[0]}, std::byte{magic[1]}, std::byte{deflate}, std::byte{0}};
  return bytes.size() >= size && std::equal(begin.begin(), begin.end(), bytes.begin());
}

}  // namespace

std::size_t gzip_header::advance(std::span<const std::byte> bytes) {
  if (size_ == 0 && is_short(bytes)) {
    std::memcpy(fixed_.data(), bytes.data(), fixed_.size());
    size_ = fixed_.size();
    enter_next();
    return fixed_.size();
  }
  std::size_t taken = 0;
  while (taken < bytes.size() && status_ == gzip_header_status::needs_more) {
    take(std::to_integer<std::uint8_t>(bytes[taken++]));
  }
  size_ += taken;
  return taken;
}

void gzip_header::take(std::uint8_t byte) {
  const bool is_covered = field_ != field::fixed && field_ != field::checksum && (flags() & has_checksum) != 0;
  if (is_covered) crc_ = crc32_gzip_refl(crc_, &byte, 1);
  switch (field_) {
    case field::fixed:
      return take_fixed(byte);
    case field::extra:
      return take_extra(byte);
    case field::name:
    case field::comment:
      if (byte == 0) enter_next();
      return;
    case field::extra_length:
    case field::checksum:
      number_ |= static_cast<std::uint32_t>(byte) << (field_bytes_ == 0 ? 0U : 8U);
      if (++field_bytes_ == 2) enter_next();
      return;
    case field::end:
      return;
  }
}

void gzip_header::take_fixed(std::uint8_t byte) {
  fixed_[field_bytes_] = byte;
  if (field_bytes_ < magic.size() && byte != magic[field_bytes_]) status_ = gzip_header_status::not_gzip;
  if (field_bytes_ == 2 && byte != deflate) status_ = gzip_header_status::unknown_method;
  if (field_bytes_ == 3 && (byte & reserved) != 0) status_ = gzip_header_status::reserved_flags;
  if (++field_bytes_ < fixed_.size()) return;
  if ((flags() & has_checksum) != 0) crc_ = crc32_gzip_refl(0, fixed_.data(), fixed_.size());
  enter_next();
}

void gzip_header::take_extra(std::uint8_t byte) {
  take_subfield(byte);
  if (--extra_remaining_ == 0) enter_next();
}

void gzip_header::take_subfield(std::uint8_t byte) {
  constexpr unsigned head_bytes = 4;
  if (subfield_bytes_ < head_bytes) {
    subfield_ |= static_cast<std::uint32_t>(byte) << (8 * subfield_bytes_++);
    if (subfield_bytes_ == head_bytes) subfield_remaining_ = subfield_ >> 16U;
  } else {
    if (subfield_ == bgzf_subfield) number_ |= static_cast<std::uint32_t>(byte) << (8 * (2 - subfield_remaining_));
    if (--subfield_remaining_ == 0 && subfield_ == bgzf_subfield) bgzf_bytes_ = std::size_t{number_} + 1;
  }
  if (subfield_bytes_ == head_bytes && subfield_remaining_ == 0) {
    subfield_bytes_ = 0;
    subfield_ = 0;
    number_ = 0;
  }
}

void gzip_header::enter(field next) {
  field_ = next;
  number_ = 0;
  field_bytes_ = 0;
}

/// Advances to the next field that the flags announce.
void gzip_header::enter_next() {
  switch (field_) {
    case field::fixed:
      if ((flags() & has_extra) != 0) return enter(field::extra_length);
      [[fallthrough]];
    case field::extra_length:
      if (field_ == field::extra_length) extra_remaining_ = number_;
      if (extra_remaining_ != 0) return enter(field::extra);
      [[fallthrough]];
    case field::extra:
      if ((flags() & has_name) != 0) return enter(field::name);
      [[fallthrough]];
    case field::name:
      if ((flags() & has_comment) != 0) return enter(field::comment);
      [[fallthrough]];
    case field::comment:
      if ((flags() & has_checksum) != 0) return enter(field::checksum);
      [[fallthrough]];
    case field::checksum:
      status_ = field_ == field::checksum && number_ != (crc_ & 0xFFFFU) ? gzip_header_status::wrong_checksum
                                                                         : gzip_header_status::complete;
      return enter(field::end);
    case field::end:
      return;
  }
}

}  // namespace gpuhist::io
