// local header: "PK\3\4" | version (2) | flags (2) | method (2) | time (4) | CRC | packed | size | name, extra (2 each)
// directory:    "PK\1\2" | version (4) | flags (2) | method (2) | time (4) | CRC | packed | size | name, extra, comment
//               (2 each) | disk, internal (2 each) | attributes | offset of the local header
// end record:   "PK\5\6" | disks (4) | entries here, entries (2 each) | size, offset of the directory | comment (2)
// zip64 end:    "PK\6\6" | length (8) | versions, disks (12) | entries here, entries, size, offset (8 each)
// locator:      "PK\6\7" | disk | offset of the zip64 end (8) | disks
#include "io/archive/zip_directory.hpp"

#include "io/input_error.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuhist::io {
namespace {

using bytes_view = std::span<const std::byte>;

constexpr std::string_view local_magic = "PK\x03\x04";
constexpr std::string_view entry_magic = "PK\x01\x02";
constexpr std::string_view signature_magic = "PK\x05\x05";
constexpr std::string_view end_magic = "PK\x05\x06";
constexpr std::string_view end64_magic = "PK\x06\x06";
constexpr std::string_view locator_magic = "PK\x06\x07";
constexpr std::string_view descriptor_magic = "PK\x07\x08";

constexpr std::size_t local_bytes = 30;
constexpr std::size_t entry_bytes = 46;
constexpr std::size_t end_bytes = 22;
constexpr std::size_t end64_bytes = 56;
constexpr std::size_t locator_bytes = 20;
constexpr std::size_t max_comment_bytes = 0xFFFF;

constexpr std::uint64_t in_zip64 = 0xFFFFFFFF;  // the value of this 32-bit field is in an extra field
constexpr unsigned encrypted_flag = 1;
constexpr unsigned descriptor_flag = 8;
constexpr unsigned masked_flag = 0x2000;  // the fields of the local header are masked

std::uint64_t number(bytes_view bytes, std::size_t at, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = size; i-- > 0;) value = value << 8U | std::to_integer<std::uint64_t>(bytes[at + i]);
  return value;
}

bool has_magic(bytes_view bytes, std::string_view magic) {
  return bytes.size() >= magic.size() && std::ranges::equal(bytes.first(magic.size()), std::as_bytes(std::span(magic)));
}

std::uint64_t hash_of(bytes_view name) {
  return std::hash<std::string_view>{}({reinterpret_cast<const char*>(name.data()), name.size()});
}

struct zip_entry {
  std::uint64_t header_at = 0;
  std::uint64_t packed = 0;
  std::uint64_t bytes = 0;
  std::uint64_t name_hash = 0;
  std::uint32_t crc = 0;
  std::uint16_t name_bytes = 0;
  std::uint16_t flags = 0;
  std::uint16_t method = 0;
  std::uint16_t type = 0;  // file type bits of a Unix mode; 0 if there is none
};

constexpr std::uint16_t type_mask = 0170000;
constexpr std::uint16_t type_of_files = 0100000;
constexpr std::uint16_t type_of_links = 0120000;
constexpr std::uint16_t type_of_fifos = 0010000;  // zip stores it for a member that it read from a pipe

struct end_record {
  std::uint64_t entries = 0;
  std::uint64_t directory_bytes = 0;
  std::uint64_t directory_at = 0;  // as stated, which may not be its real offset
};

/// Reads bytes in sequence, with lookahead.
class sequence {
 public:
  sequence(byte_reader& input, std::uint64_t at) : input_(input), at_(at) {}

  /// The next bytes; fewer than `size` only at the end.
  bytes_view ahead(std::size_t size) {
    if (buffer_.size() - passed_ < size) {
      buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(std::exchange(passed_, 0)));
      while (buffer_.size() < size) {
        const std::size_t have = buffer_.size();
        buffer_.resize(std::max(size, have + block_bytes));
        const std::size_t read = input_.read(std::span(buffer_).subspan(have));
        buffer_.resize(have + read);
        if (read == 0) break;
      }
    }
    return bytes_view(buffer_).subspan(passed_, std::min(size, buffer_.size() - passed_));
  }

  void pass(std::size_t size) {
    passed_ += size;
    at_ += size;
  }

  [[nodiscard]] std::uint64_t at() const { return at_; }

 private:
  static constexpr std::size_t block_bytes = std::size_t{64} << 10U;

  byte_reader& input_;
  std::uint64_t at_;
  std::vector<std::byte> buffer_;
  std::size_t passed_ = 0;
};

class zip_check {
 public:
  zip_check(byte_reader& input, std::span<const zip_walked> walked) : input_(input), walked_(walked) {}

  void check_file(std::uint64_t file_bytes);
  void check_stream(std::uint64_t at);

 private:
  [[noreturn]] void fail(const std::string& message, std::uint64_t at) const {
    throw input_error("damaged zip archive: " + message + ", at " + input_.place_of(at), 0, failure_kind::damaged);
  }

  std::size_t read_at(std::uint64_t at, std::span<std::byte> out);
  std::uint64_t find_end(std::uint64_t file_bytes);
  std::uint64_t find_directory(std::uint64_t end_at);
  void read_directory(sequence& input);
  zip_entry take_entry(sequence& input);
  void read_zip64_sizes(zip_entry& entry, bytes_view extra, std::uint64_t at) const;
  end_record read_ends(sequence& input);
  void check_ends(const end_record& stated) const;
  void expect_nothing_more(sequence& input) const;
  void compare_with_walk();
  void compare_entry(const zip_entry& entry, const zip_walked& found) const;
  void check_local_headers(std::uint64_t shift);
  std::uint64_t end_of_entry(const zip_entry& entry, std::uint64_t at);
  void compare_local(const zip_entry& entry, bytes_view header, std::uint64_t at) const;
  bool is_descriptor(const zip_entry& entry, std::uint64_t at, std::uint64_t size);
  bool is_signing_block(std::uint64_t at, std::uint64_t size);
  void check_front(std::uint64_t size);
  void skip_to_directory(sequence& input);

  byte_reader& input_;
  std::span<const zip_walked> walked_;
  std::vector<zip_entry> entries_;  // sorted by offset after all were read
  std::uint64_t directory_at_ = 0;
  std::uint64_t directory_end_ = 0;
};

void zip_check::check_file(std::uint64_t file_bytes) {
  const std::uint64_t end_at = find_end(file_bytes);
  directory_at_ = find_directory(end_at);
  input_.seek(directory_at_);
  sequence rest(input_, directory_at_);
  read_directory(rest);
  const end_record stated = read_ends(rest);
  check_ends(stated);
  expect_nothing_more(rest);
  if (stated.directory_at > directory_at_)
    fail("the directory is before the offset that the end record states", end_at);
  compare_with_walk();
  check_local_headers(directory_at_ - stated.directory_at);
}

void zip_check::check_stream(std::uint64_t at) {
  sequence rest(input_, at);
  skip_to_directory(rest);
  directory_at_ = rest.at();
  read_directory(rest);
  const end_record stated = read_ends(rest);
  check_ends(stated);
  if (stated.directory_at != directory_at_) {
    fail("the end record names offset " + std::to_string(stated.directory_at) + " as the offset of the directory",
         directory_at_);
  }
  expect_nothing_more(rest);
  compare_with_walk();
}

std::size_t zip_check::read_at(std::uint64_t at, std::span<std::byte> out) {
  input_.seek(at);
  std::size_t filled = 0;
  while (filled < out.size()) {
    const std::size_t read = input_.read(out.subspan(filled));
    if (read == 0) break;
    filled += read;
  }
  return filled;
}

// Finds the end record whose comment ends at the end of the file; otherwise the last one whose comment lies within the
// file, so that the message names the data after it.
std::uint64_t zip_check::find_end(std::uint64_t file_bytes) {
  const std::uint64_t begin = file_bytes - std::min<std::uint64_t>(file_bytes, end_bytes + max_comment_bytes);
  std::vector<std::byte> tail(static_cast<std::size_t>(file_bytes - begin));
  tail.resize(read_at(begin, tail));
  std::optional<std::uint64_t> with_trailing;
  for (std::size_t i = tail.size() < end_bytes ? 0 : tail.size() - end_bytes + 1; i-- > 0;) {
    const bytes_view record = bytes_view(tail).subspan(i);
    if (!has_magic(record, end_magic)) continue;
    const std::size_t record_bytes = end_bytes + number(record, 20, 2);
    if (record_bytes == record.size()) return begin + i;
    if (record_bytes < record.size() && !with_trailing) with_trailing = begin + i;
  }
  if (!with_trailing) fail("it has no end record", file_bytes);
  return *with_trailing;
}

// Finds the directory from its size: it ends where the end records begin, even if other data precedes the archive.
std::uint64_t zip_check::find_directory(std::uint64_t end_at) {
  std::array<std::byte, end_bytes> end{};
  std::array<std::byte, locator_bytes> locator{};
  std::array<std::byte, end64_bytes> end64{};
  (void)read_at(end_at, end);
  std::uint64_t size = number(end, 12, 4);
  std::uint64_t ends_at = end_at;
  const bool has_locator =
      end_at >= locator_bytes && read_at(end_at - locator_bytes, locator) > 0 && has_magic(locator, locator_magic);
  if (has_locator) {
    const std::uint64_t locator_at = end_at - locator_bytes;
    for (const std::uint64_t at :
         {number(locator, 8, 8), locator_at - std::min<std::uint64_t>(locator_at, end64_bytes)}) {
      if (at >= locator_at || read_at(at, end64) < end64_bytes || !has_magic(end64, end64_magic)) continue;
      size = number(end64, 40, 8);
      ends_at = at;
      break;
    }
    if (ends_at == end_at) fail("it has no zip64 end record at the offset that its locator states", locator_at);
  }
  if (size > ends_at) fail("the end record names a directory of " + std::to_string(size) + " bytes", end_at);
  return ends_at - size;
}

void zip_check::read_directory(sequence& input) {
  while (has_magic(input.ahead(entry_magic.size()), entry_magic)) {
    if (entries_.size() == walked_.size()) {
      fail("its directory lists more than the " + std::to_string(walked_.size()) + " members that were found",
           input.at());
    }
    entries_.push_back(take_entry(input));
  }
  directory_end_ = input.at();
  constexpr std::size_t signature_head = 6;
  const bytes_view signature = input.ahead(signature_head);
  if (!has_magic(signature, signature_magic) || signature.size() < signature_head) return;
  const std::size_t size = signature_head + number(signature, 4, 2);
  if (input.ahead(size).size() < size) fail("its directory ends early", input.at());
  input.pass(size);
  directory_end_ = input.at();
}

zip_entry zip_check::take_entry(sequence& input) {
  const bytes_view head = input.ahead(entry_bytes);
  if (head.size() < entry_bytes) fail("its directory ends early", input.at());
  constexpr unsigned made_by_unix = 3;
  const auto made_by = static_cast<unsigned>(number(head, 5, 1));
  zip_entry entry{.header_at = number(head, 42, 4),
                  .packed = number(head, 20, 4),
                  .bytes = number(head, 24, 4),
                  .crc = static_cast<std::uint32_t>(number(head, 16, 4)),
                  .name_bytes = static_cast<std::uint16_t>(number(head, 28, 2)),
                  .flags = static_cast<std::uint16_t>(number(head, 8, 2)),
                  .method = static_cast<std::uint16_t>(number(head, 10, 2))};
  if (made_by == made_by_unix) entry.type = static_cast<std::uint16_t>(number(head, 40, 2) & type_mask);
  const std::size_t extra = number(head, 30, 2);
  const std::size_t size = entry_bytes + entry.name_bytes + extra + number(head, 32, 2);
  const bytes_view whole = input.ahead(size);
  if (whole.size() < size) fail("its directory ends early", input.at());
  entry.name_hash = hash_of(whole.subspan(entry_bytes, entry.name_bytes));
  read_zip64_sizes(entry, whole.subspan(entry_bytes + entry.name_bytes, extra), input.at());
  input.pass(size);
  return entry;
}

void zip_check::read_zip64_sizes(zip_entry& entry, bytes_view extra, std::uint64_t at) const {
  constexpr std::size_t field_head = 4;
  constexpr unsigned zip64 = 1;
  while (extra.size() >= field_head) {
    const std::size_t size = std::min(extra.size() - field_head, static_cast<std::size_t>(number(extra, 2, 2)));
    bytes_view field = extra.subspan(field_head, size);
    const bool is_zip64 = number(extra, 0, 2) == zip64;
    extra = extra.subspan(field_head + size);
    if (!is_zip64) continue;
    for (std::uint64_t* const value : {&entry.bytes, &entry.packed, &entry.header_at}) {
      if (*value != in_zip64) continue;
      if (field.size() < sizeof *value) fail("an entry of its directory lacks a zip64 field", at);
      *value = number(field, 0, sizeof *value);
      field = field.subspan(sizeof *value);
    }
    return;
  }
}

// Reads the zip64 end record and its locator, if there are any, and the end record with its comment.
end_record zip_check::read_ends(sequence& input) {
  std::optional<end_record> wide;
  const std::uint64_t wide_at = input.at();
  if (const bytes_view record = input.ahead(end64_bytes); has_magic(record, end64_magic)) {
    constexpr std::size_t length_ends = 12;
    const std::uint64_t size = record.size() < end64_bytes ? 0 : number(record, 4, 8) + length_ends;
    constexpr std::uint64_t longest = std::uint64_t{1} << 20U;
    if (size < end64_bytes || size > longest) fail("its zip64 end record has an invalid length", wide_at);
    wide = end_record{.entries = number(record, 32, 8),
                      .directory_bytes = number(record, 40, 8),
                      .directory_at = number(record, 48, 8)};
    if (input.ahead(static_cast<std::size_t>(size)).size() < size) fail("its zip64 end record ends early", wide_at);
    input.pass(static_cast<std::size_t>(size));
    if (input.ahead(locator_bytes).size() < locator_bytes || !has_magic(input.ahead(locator_bytes), locator_magic)) {
      fail("its zip64 end record has no locator", input.at());
    }
    input.pass(locator_bytes);
  }
  const bytes_view end = input.ahead(end_bytes);
  if (end.size() < end_bytes || !has_magic(end, end_magic)) {
    fail("other data is where an entry of the directory or the end record should be", input.at());
  }
  const end_record narrow{
      .entries = number(end, 10, 2), .directory_bytes = number(end, 12, 4), .directory_at = number(end, 16, 4)};
  if (wide && ((narrow.entries != 0xFFFF && narrow.entries != wide->entries) ||
               (narrow.directory_bytes != in_zip64 && narrow.directory_bytes != wide->directory_bytes) ||
               (narrow.directory_at != in_zip64 && narrow.directory_at != wide->directory_at))) {
    fail("its end record and its zip64 end record differ", input.at());
  }
  const std::size_t size = end_bytes + number(end, 20, 2);
  if (input.ahead(size).size() < size) fail("the comment of its end record ends early", input.at());
  input.pass(size);
  return wide.value_or(narrow);
}

void zip_check::check_ends(const end_record& stated) const {
  const std::uint64_t found = entries_.size();
  // without zip64 the field has 16 bits, and some programs store only the lower 16 bits of a larger count
  if (stated.entries != found && (found <= 0xFFFF || stated.entries != (found & 0xFFFF))) {
    fail("its end record states " + std::to_string(stated.entries) + " entries, but its directory has " +
             std::to_string(found),
         directory_end_);
  }
  if (stated.directory_bytes != directory_end_ - directory_at_) {
    fail("its end record states a directory of " + std::to_string(stated.directory_bytes) + " bytes, but it has " +
             std::to_string(directory_end_ - directory_at_),
         directory_end_);
  }
}

void zip_check::expect_nothing_more(sequence& input) const {
  constexpr std::size_t step = std::size_t{16} << 10U;
  const std::uint64_t end = input.at();
  for (;;) {
    const bytes_view rest = input.ahead(step);
    if (rest.empty()) return;
    if (std::ranges::any_of(rest, [](std::byte each) { return each != std::byte{0}; })) {
      throw input_error("holds other data after its end, which was not counted, at " + input_.place_of(end), 0,
                        failure_kind::damaged);
    }
    input.pass(rest.size());
  }
}

void zip_check::compare_with_walk() {
  std::ranges::sort(entries_, {}, &zip_entry::header_at);
  const auto shared = std::ranges::adjacent_find(entries_, {}, &zip_entry::header_at);
  if (shared != entries_.end()) {
    const auto count = std::ranges::count(entries_, shared->header_at, &zip_entry::header_at);
    fail(std::to_string(count) + " entries of its directory share one local header", shared->header_at);
  }
  if (entries_.size() != walked_.size()) {
    fail(std::to_string(walked_.size()) + " members were found, and its directory lists " +
             std::to_string(entries_.size()),
         directory_at_);
  }
  for (std::size_t i = 0; i < entries_.size(); ++i) compare_entry(entries_[i], walked_[i]);
}

void zip_check::compare_entry(const zip_entry& entry, const zip_walked& found) const {
  const bool is_link = entry.type == type_of_links;
  if (found.type == zip_walked::kind::not_a_file && entry.bytes > 0 && !is_link) {
    fail("a member that is not a file has " + std::to_string(entry.bytes) + " bytes", entry.header_at);
  }
  if (found.type != zip_walked::kind::text) return;
  if (is_link) {
    fail(
        "a symbolic link was counted as a file; its kind is in the directory, which follows it: give the archive as a "
        "file of its own",
        entry.header_at);
  }
  const bool is_file = entry.type == 0 || entry.type == type_of_files || entry.type == type_of_fifos;
  if (!is_file && entry.bytes > 0) {
    fail("its directory states that a member with bytes is not a file", entry.header_at);
  }
  if (found.bytes == entry.bytes && found.crc == entry.crc) return;
  fail("a member does not match its entry in the directory, which states " + std::to_string(entry.bytes) +
           " bytes or another checksum",
       entry.header_at);
}

// `shift`: size of the data in front of the archive.
void zip_check::check_local_headers(std::uint64_t shift) {
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const std::uint64_t at = entries_[i].header_at + shift;
    if (i == 0) check_front(at);
    const bool is_last = i + 1 == entries_.size();
    const std::uint64_t next = is_last ? directory_at_ : entries_[i + 1].header_at + shift;
    if (at >= next) fail("a local header is within or after the directory", at);
    end = end_of_entry(entries_[i], at);
    if (end > next) fail("two of its members overlap", at);
    if (end == next || is_descriptor(entries_[i], end, next - end)) continue;
    if (is_last && is_signing_block(end, next - end)) continue;
    fail(std::to_string(next - end) + " bytes belong to no member that its directory lists", end);
  }
  if (entries_.empty()) check_front(directory_at_);
}

// A self-extracting program may precede the first member; another member may not.
void zip_check::check_front(std::uint64_t size) {
  std::array<std::byte, local_magic.size()> head{};
  if (size == 0 || read_at(0, head) < head.size() || !has_magic(head, local_magic)) return;
  fail(std::to_string(size) + " bytes in front belong to no member that its directory lists", 0);
}

std::uint64_t zip_check::end_of_entry(const zip_entry& entry, std::uint64_t at) {
  std::vector<std::byte> header(local_bytes + entry.name_bytes);
  if (read_at(at, header) < header.size() || !has_magic(header, local_magic)) {
    fail("its directory lists an offset where no local header is", at);
  }
  compare_local(entry, header, at);
  return at + local_bytes + number(header, 26, 2) + number(header, 28, 2) + entry.packed;
}

void zip_check::compare_local(const zip_entry& entry, bytes_view header, std::uint64_t at) const {
  const auto compare = [&](bool same, const char* field) {
    if (!same) fail(std::string("a local header and its entry in the directory differ in their ") + field, at);
  };
  if ((entry.flags & masked_flag) != 0) return;
  constexpr unsigned compared = encrypted_flag | descriptor_flag;
  compare((number(header, 6, 2) & compared) == (entry.flags & compared), "flags");
  compare(number(header, 8, 2) == entry.method, "methods");
  compare(number(header, 26, 2) == entry.name_bytes && hash_of(header.subspan(local_bytes)) == entry.name_hash,
          "names");
  // if checksum and sizes follow the member, these fields of the header are usually zero
  const bool follow = (entry.flags & descriptor_flag) != 0;
  const auto same = [&](std::size_t field, std::uint64_t value) {
    const std::uint64_t stated = number(header, field, 4);
    return stated == value || (follow && stated == 0) || (field > 14 && stated == in_zip64);
  };
  compare(same(14, entry.crc), "checksums");
  compare(same(18, entry.packed) && same(22, entry.bytes), "sizes");
}

// Whether the bytes are a data descriptor: checksum and sizes (4 or 8 bytes each) after a member, with or without a
// magic number.
bool zip_check::is_descriptor(const zip_entry& entry, std::uint64_t at, std::uint64_t size) {
  constexpr std::size_t longest = 24;
  if ((entry.flags & descriptor_flag) == 0 || size > longest) return false;
  std::array<std::byte, longest> buffer{};
  bytes_view found = bytes_view(buffer).first(read_at(at, std::span(buffer).first(static_cast<std::size_t>(size))));
  if (found.size() % 8 == 0 && has_magic(found, descriptor_magic)) found = found.subspan(descriptor_magic.size());
  const std::size_t width = (found.size() - 4) / 2;
  if (found.size() < 4 || (width != 4 && width != 8) || found.size() != 4 + 2 * width) return false;
  return number(found, 0, 4) == entry.crc && number(found, 4, width) == entry.packed &&
         number(found, 4 + width, width) == entry.bytes;
}

// Whether the bytes are the signature of an Android package. It precedes the directory and states its size at its end.
bool zip_check::is_signing_block(std::uint64_t at, std::uint64_t size) {
  constexpr std::string_view magic = "APK Sig Block 42";
  std::array<std::byte, 24> tail{};
  if (size < tail.size() + 8 || read_at(at + size - tail.size(), tail) < tail.size()) return false;
  return has_magic(std::span(tail).subspan(8), magic) && number(tail, 0, 8) + 8 == size;
}

// The walk stops where the next header would be: the directory begins there.
void zip_check::skip_to_directory(sequence& input) {
  const bytes_view next = input.ahead(entry_magic.size());
  if (next.empty()) fail("it ends early, without a directory", input.at());
  for (const std::string_view magic : {entry_magic, end_magic, end64_magic}) {
    if (has_magic(next, magic)) return;
  }
  fail("other data is where its directory should begin", input.at());
}

}  // namespace

void check_zip_file(byte_reader& file, std::span<const zip_walked> walked) {
  zip_check(file, walked).check_file(file.seekable_bytes().value_or(0));
}

void check_zip_stream(byte_reader& rest, std::uint64_t at, std::span<const zip_walked> walked) {
  zip_check(rest, walked).check_stream(at);
}

}  // namespace gpuhist::io
