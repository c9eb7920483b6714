// newc, crc: "070701", "070702" | 13 numbers of 8 hexadecimal digits: size (54), length of the name (94), checksum
// (102);
//            header with name, and body, are padded to 4 bytes
// odc:       "070707" | octal digits: length of the name (59, 6), size (65, 11); nothing is padded
// large odc: "070727" | hexadecimal digits: length of the name (86, 4), size (99, 16); nothing is padded
// binary:    0x71C7 | words of 16 bits: length of the name (20), size (22, the upper word first); padded to 2 bytes
#include "io/archive/cpio_headers.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <string_view>
#include <utility>

namespace gpuhist::io {
namespace {

constexpr std::size_t short_magic = 2;
constexpr std::size_t long_magic = 6;
constexpr std::string_view end_name{"TRAILER!!!\0", 11};
constexpr std::uint64_t max_name_bytes = std::uint64_t{1} << 20U;

constexpr std::uint64_t padding_of(std::uint64_t size, std::uint64_t block) { return (block - size % block) % block; }

}  // namespace

void cpio_headers::advance(std::span<const std::byte> bytes) {
  while (!bytes.empty() && phase_ != phase::end && phase_ != phase::lost) {
    const auto taken = bytes.first(static_cast<std::size_t>(std::min<std::uint64_t>(remaining_, bytes.size())));
    if (phase_ == phase::body) {
      if (entries_.back().checksum) {
        entries_.back().sum = std::accumulate(
            taken.begin(), taken.end(), entries_.back().sum,
            [](std::uint32_t sum, std::byte each) { return sum + std::to_integer<std::uint32_t>(each); });
      }
    } else if (phase_ == phase::padding) {
      if (std::ranges::any_of(taken, [](std::byte each) { return each != std::byte{0}; })) return lose();
    } else {
      part_.append(reinterpret_cast<const char*>(taken.data()), taken.size());
    }
    bytes = bytes.subspan(taken.size());
    at_ += taken.size();
    remaining_ -= taken.size();
    if (remaining_ == 0) finish_part();
  }
}

void cpio_headers::skip(std::uint64_t bytes) {
  if (phase_ == phase::end || phase_ == phase::lost) return;
  at_ += bytes;
  if (phase_ != phase::body && phase_ != phase::padding) return lose();
  if (phase_ == phase::body) entries_.back().checksum.reset();
  while (bytes > 0) {
    const std::uint64_t taken = std::min(bytes, remaining_);
    bytes -= taken;
    remaining_ -= taken;
    if (remaining_ > 0) return;
    finish_part();
    if (bytes > 0 && phase_ != phase::padding) return lose();
  }
}

void cpio_headers::lose() {
  phase_ = phase::lost;
  broken_at_ = header_at_;
}

// Parts of zero bytes end at once.
void cpio_headers::expect(phase next, std::uint64_t bytes) {
  phase_ = next;
  remaining_ = bytes;
  if (bytes == 0) finish_part();
}

void cpio_headers::finish_part() {
  switch (phase_) {
    case phase::magic:
      return take_magic();
    case phase::header:
      return take_header();
    case phase::name:
      return take_name();
    case phase::body: {
      const bool padded_to_4 = kind_ == kind::newc || kind_ == kind::crc;
      const bool padded_to_2 = kind_ == kind::binary_le || kind_ == kind::binary_be;
      return expect(phase::padding, padding_of(body_bytes_, padded_to_4 ? 4 : padded_to_2 ? 2 : 1));
    }
    case phase::padding:
      header_at_ = at_;
      part_.clear();
      phase_ = phase::magic;
      remaining_ = short_magic;
      return;
    case phase::end:
    case phase::lost:
      return;
  }
}

void cpio_headers::take_magic() {
  static constexpr std::pair<std::string_view, std::pair<kind, std::size_t>> kinds[] = {
      {"070701", {kind::newc, 110}},      {"070702", {kind::crc, 110}},        {"070707", {kind::odc, 76}},
      {"070727", {kind::large_odc, 116}}, {"\xC7\x71", {kind::binary_le, 26}}, {"\x71\xC7", {kind::binary_be, 26}},
  };
  if (part_ == "07") {
    remaining_ = long_magic - short_magic;
    return;
  }
  for (const auto& [magic, found] : kinds) {
    if (part_ != magic) continue;
    kind_ = found.first;
    return expect(phase::header, found.second - magic.size());
  }
  lose();
}

// An invalid digit makes the position of later headers unknown.
std::uint64_t cpio_headers::number(std::size_t at, std::size_t digits, unsigned base) {
  std::uint64_t value = 0;
  const char* const end = part_.data() + at + digits;
  const auto read = std::from_chars(part_.data() + at, end, value, static_cast<int>(base));
  if (read.ec != std::errc{} || read.ptr != end) lose();
  return value;
}

std::uint64_t cpio_headers::binary_word(std::size_t at) const {
  const std::uint64_t first = static_cast<unsigned char>(part_[at]);
  const std::uint64_t second = static_cast<unsigned char>(part_[at + 1]);
  return kind_ == kind::binary_be ? first << 8U | second : second << 8U | first;
}

void cpio_headers::take_header() {
  switch (kind_) {
    case kind::newc:
    case kind::crc:
      body_bytes_ = number(54, 8, 16);
      name_bytes_ = number(94, 8, 16);
      checksum_ = static_cast<std::uint32_t>(number(102, 8, 16));
      name_bytes_ += padding_of(part_.size() + name_bytes_, 4);
      break;
    case kind::odc:
      name_bytes_ = number(59, 6, 8);
      body_bytes_ = number(65, 11, 8);
      break;
    case kind::large_odc:
      name_bytes_ = number(86, 4, 16);
      body_bytes_ = number(99, 16, 16);
      break;
    case kind::binary_le:
    case kind::binary_be:
      name_bytes_ = binary_word(20);
      body_bytes_ = binary_word(22) << 16U | binary_word(24);
      name_bytes_ += name_bytes_ % 2;
      break;
  }
  if (phase_ == phase::lost) return;
  if (name_bytes_ == 0 || name_bytes_ > max_name_bytes) return lose();
  part_.clear();
  expect(phase::name, name_bytes_);
}

void cpio_headers::take_name() {
  if (part_.starts_with(end_name)) {
    phase_ = phase::end;
    return;
  }
  entries_.push_back({.header_at = header_at_, .bytes = body_bytes_});
  if (kind_ == kind::crc) entries_.back().checksum = checksum_;
  part_.clear();
  expect(phase::body, body_bytes_);
}

}  // namespace gpuhist::io
