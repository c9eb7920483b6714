// header:     name (100) | mode, uid, gid (8 each) | size (124, 12) | time (12) | checksum (148, 8) | type (156) | ...
//             magic (257); the GNU header ("ustar  ") of a sparse file has offset and size of its first extent (386);
//             a flag (482) states whether a block with more extents follows, which has the same flag (504)
// pax record: length of the record in digits | " " | keyword | "=" | value | "\n"
#include "io/archive/tar_headers.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace gpuhist::io {
namespace {

constexpr std::uint64_t block_bytes = 512;
constexpr std::size_t size_at = 124;
constexpr std::size_t size_bytes = 12;
constexpr std::size_t checksum_at = 148;
constexpr std::size_t checksum_bytes = 8;
constexpr std::size_t type_at = 156;
constexpr std::uint64_t max_special_bytes = 999'999;  // this limit and the next one are those of libarchive
constexpr unsigned max_headers = 32;

constexpr std::string_view pixz_index_magic = "\xA6\x4C\x32\x2E\xD6\x14\xAE\xDB";  // of pixz

constexpr std::uint64_t whole_blocks(std::uint64_t bytes) {
  return bytes + (block_bytes - bytes % block_bytes) % block_bytes;
}

bool is_zero(std::string_view bytes) { return bytes.find_first_not_of('\0') == std::string_view::npos; }

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// The count of numbers in a list with this separator; nothing if the list is malformed.
std::optional<std::size_t> count_numbers(std::string_view list, char separator) {
  for (std::size_t count = 1;; ++count) {
    const std::size_t end = std::min(list.find(separator), list.size());
    if (!is_number(list.substr(0, end))) return std::nullopt;
    if (end == list.size()) return count;
    list.remove_prefix(end + 1);
  }
}

bool is_pax(char type) { return type == 'x' || type == 'X'; }

std::uint64_t octal(std::string_view field) {
  field.remove_prefix(std::min(field.find_first_not_of(" \t"), field.size()));
  std::uint64_t value = 0;
  std::from_chars(field.data(), field.data() + field.size(), value, 8);
  return value;
}

}  // namespace

bool has_tar_checksum(std::string_view header) {
  int unsigned_sum = checksum_bytes * ' ';
  int signed_sum = unsigned_sum;
  for (std::size_t i = 0; i < header.size(); ++i) {
    if (i >= checksum_at && i < checksum_at + checksum_bytes) continue;
    unsigned_sum += static_cast<unsigned char>(header[i]);
    signed_sum += static_cast<signed char>(header[i]);
  }
  const auto stated = static_cast<int>(octal(header.substr(checksum_at, checksum_bytes)));
  return stated == unsigned_sum || stated == signed_sum;
}

void tar_headers::begin(std::uint64_t at) {
  const bool zeros_precede_members = zeros_precede_members_;
  *this = {};
  zeros_precede_members_ = zeros_precede_members;
  at_ = header_at_ = at;
}

void tar_headers::advance(std::uint64_t offset, std::span<const std::byte> bytes) {
  if (offset > at_ || at_ - offset >= bytes.size()) return;
  bytes = bytes.subspan(static_cast<std::size_t>(at_ - offset));
  while (!bytes.empty() && phase_ != phase::member && phase_ != phase::index && phase_ != phase::lost) {
    const auto taken = bytes.first(static_cast<std::size_t>(std::min<std::uint64_t>(remaining_, bytes.size())));
    part_.append(reinterpret_cast<const char*>(taken.data()), taken.size());
    bytes = bytes.subspan(taken.size());
    at_ += taken.size();
    remaining_ -= taken.size();
    if (remaining_ == 0) finish_part();
  }
}

bool tar_headers::has_index() const {
  const bool may_begin = phase_ == phase::header && !dangling_ && zero_bytes_ >= 2 * block_bytes;
  return phase_ == phase::index || (may_begin && part_.starts_with(pixz_index_magic));
}

bool tar_headers::has_end_mark() const {
  if (has_index()) return true;
  if (phase_ != phase::header || dangling_ || !is_zero(part_)) return false;
  const std::uint64_t zeros = zero_bytes_ + part_.size();
  return (zeros == block_bytes && !zeros_precede_members_) || zeros >= 2 * block_bytes;  // padding may end in a block
}

bool tar_headers::is_within_header() const {
  return phase_ != phase::header || dangling_.has_value() || !is_zero(part_);
}

void tar_headers::fail(std::string cause, std::uint64_t at, failure_kind kind) {
  error_ = {.cause = std::move(cause), .at = at, .kind = kind};
  phase_ = phase::lost;
}

// Parts of zero bytes end at once.
void tar_headers::expect(phase next, std::uint64_t bytes) {
  phase_ = next;
  part_.clear();
  remaining_ = bytes;
  if (bytes == 0) finish_part();
}

void tar_headers::finish_part() {
  constexpr std::size_t more_at = 504;
  switch (phase_) {
    case phase::header:
      return take_block();
    case phase::special:
      return take_special_body();
    case phase::sparse_map:
      if (part_[more_at] != '\0') return expect(phase::sparse_map, block_bytes);
      phase_ = phase::member;
      return;
    case phase::member:
    case phase::index:
    case phase::lost:
      return;
  }
}

void tar_headers::take_block() {
  if (is_zero(part_)) return take_zero_block();
  if (has_index()) {
    phase_ = phase::index;
    return;
  }
  header_at_ = at_ - block_bytes;
  const bool follows_zero_block = std::exchange(zero_bytes_, 0) == block_bytes;
  if (!has_tar_checksum(part_)) {
    phase_ = phase::lost;
    return;
  }
  zeros_precede_members_ |= follows_zero_block;
  if (!first_header_at_) first_header_at_ = header_at_;
  if (++headers_ > max_headers) return fail("more than 32 headers of one member", header_at_);
  const char type = part_[type_at];
  if (std::string_view("xXgLKAV").find(type) != std::string_view::npos) return take_special(type);
  take_member();
}

void tar_headers::take_zero_block() {
  if (dangling_) return fail("zeros follow a special header instead of its member", *dangling_);
  zero_bytes_ += block_bytes;
  first_header_at_.reset();
  continues_file_ = false;
  expect(phase::header, block_bytes);
}

// A volume label (V) and a global pax header (g) belong to no member.
void tar_headers::take_special(char type) {
  if (is_pax(type) && std::exchange(has_pax_, true)) return fail("two pax headers of one member", header_at_);
  type_ = type;
  if (type == 'V') return expect(phase::header, block_bytes);
  if (type != 'g') dangling_ = header_at_;
  special_bytes_ = size_field().value_or(~std::uint64_t{0});
  if (special_bytes_ > max_special_bytes) {
    return fail("a pax header, or a long name, of more than 999,999 bytes, which is the limit", header_at_,
                failure_kind::refused);
  }
  expect(phase::special, whole_blocks(special_bytes_));
}

void tar_headers::take_special_body() {
  const std::string_view body = std::string_view(part_).substr(0, static_cast<std::size_t>(special_bytes_));
  if (is_pax(type_)) take_pax_records(body);
  // libarchive ignores global headers
  if (type_ == 'g') continues_file_ = body.find(" GNU.volume.filename=") != std::string_view::npos;
  if (phase_ == phase::special) expect(phase::header, block_bytes);
}

void tar_headers::take_member() {
  constexpr std::size_t magic_at = 257;
  constexpr std::size_t first_extent_at = 386;
  constexpr std::size_t more_at = 482;
  const auto size = pax_bytes_ ? pax_bytes_ : size_field();
  if (!size) {
    phase_ = phase::lost;
    return;
  }
  dangling_.reset();
  content_bytes_ = whole_blocks(*size);
  const bool is_gnu = std::string_view(part_).substr(magic_at).starts_with("ustar  ");
  if (is_gnu && part_[first_extent_at] != '\0' && part_[more_at] != '\0') {
    return expect(phase::sparse_map, block_bytes);
  }
  phase_ = phase::member;
}

void tar_headers::take_pax_records(std::string_view records) {
  while (!records.empty()) {
    const std::size_t digits = std::min(records.find(' '), records.size());
    std::size_t length = 0;
    if (is_number(records.substr(0, digits))) {
      std::from_chars(records.data(), records.data() + digits, length);
    }
    const std::string_view line = records.substr(0, length);
    const std::size_t sign = line.find('=');
    const bool is_record = length <= records.size() && sign != std::string_view::npos && sign > digits + 1 &&
                           line.back() == '\n' && line.substr(0, sign).find('\0') == std::string_view::npos;
    if (!is_record) return fail("a pax header with a record that cannot be parsed", header_at_);
    take_pax_record(line.substr(digits + 1, sign - digits - 1), line.substr(sign + 1, length - sign - 2));
    if (error_) return;
    records.remove_prefix(length);
  }
  // libarchive reads format 1.0; earlier formats have no such records
  if ((!sparse_major_.empty() || !sparse_minor_.empty()) && (sparse_major_ != "1" || sparse_minor_ != "0")) {
    fail("a pax header of a sparse file of an unknown format", header_at_);
  }
}

void tar_headers::take_pax_record(std::string_view key, std::string_view value) {
  static constexpr std::string_view numbers[] = {"size",
                                                 "GNU.sparse.size",
                                                 "GNU.sparse.realsize",
                                                 "GNU.sparse.numblocks",
                                                 "GNU.sparse.offset",
                                                 "GNU.sparse.numbytes",
                                                 "GNU.sparse.major",
                                                 "GNU.sparse.minor",
                                                 "SCHILY.realsize"};
  bool valid = true;
  if (std::ranges::find(numbers, key) != std::end(numbers)) {
    valid = is_number(value);
  } else if (key == "GNU.sparse.map" && !value.empty()) {
    const auto count = count_numbers(value, ',');
    valid = count && *count % 2 == 0;
  } else if (key == "SUN.holesdata") {
    valid = value.starts_with(' ') && count_numbers(value.substr(1), ' ');
  }
  if (!valid) return fail("a pax header whose record " + std::string(key) + " cannot be parsed", header_at_);
  if (key == "GNU.sparse.major") sparse_major_ = value;
  if (key == "GNU.sparse.minor") sparse_minor_ = value;
  if (key != "size") return;
  std::uint64_t bytes = 0;
  std::from_chars(value.data(), value.data() + value.size(), bytes);
  pax_bytes_ = bytes;
}

// The size: octal digits, or base 256 if the first bit is set. Nothing if it is too large.
std::optional<std::uint64_t> tar_headers::size_field() const {
  const std::string_view field = std::string_view(part_).substr(size_at, size_bytes);
  if ((static_cast<unsigned char>(field[0]) & 0x80U) == 0) return octal(field);
  std::uint64_t value = static_cast<unsigned char>(field[0]) & 0x7FU;
  for (const char each : field.substr(1)) {
    if (value >> 55U != 0) return std::nullopt;
    value = value << 8U | static_cast<unsigned char>(each);
  }
  return value;
}

}  // namespace gpuhist::io
