// local header: "PK\3\4" | version (2) | flags (2) | method (2) | time (4) | CRC | packed | size | name, extra (2 each)
// directory:    "PK\1\2" | version (4) | flags (2) | method (2) | time (4) | CRC | packed | size | name, extra, comment
//               (2 each) | disk, internal (2 each) | attributes | offset of the local header
// end record:   "PK\5\6" | disks (4) | entries here, entries (2 each) | size, offset of the directory | comment (2)
// zip64 end:    "PK\6\6" | length (8) | versions, disks (12) | entries here, entries, size, offset (8 each)
// locator:      "PK\6\7" | disk | offset of the zip64 end (8) | disks
#include "io/archive/zip_records.hpp"

#include "io/failure.hpp"

#include <array>
#include <functional>
#include <optional>

namespace gpuhist::io {
namespace {

using bytes_view = std::span<const std::byte>;

constexpr std::string_view signature_magic = "PK\x05\x05";
constexpr std::string_view locator_magic = "PK\x06\x07";

constexpr std::size_t entry_bytes = 46;
constexpr std::size_t end_bytes = 22;
constexpr std::size_t end64_bytes = 56;
constexpr std::size_t locator_bytes = 20;
constexpr std::size_t max_comment_bytes = 0xFFFF;

constexpr std::uint16_t type_mask = 0170000;

}  // namespace

std::uint64_t zip_number(bytes_view bytes, std::size_t at, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = size; i-- > 0;) value = value << 8U | std::to_integer<std::uint64_t>(bytes[at + i]);
  return value;
}

bool has_magic(bytes_view bytes, std::string_view magic) {
  return bytes.size() >= magic.size() && std::ranges::equal(bytes.first(magic.size()), std::as_bytes(std::span(magic)));
}

std::uint64_t zip_name_hash(bytes_view name) {
  return std::hash<std::string_view>{}({reinterpret_cast<const char*>(name.data()), name.size()});
}

bytes_view byte_sequence::ahead(std::size_t size) {
  constexpr std::size_t block_bytes = std::size_t{64} << 10U;
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

void zip_records::fail(const std::string& message, std::uint64_t at, lack missing) const {
  throw input_error("damaged zip archive: " + message + ", at " + input_.place_of(at), 0, failure_kind::damaged,
                    failure_origin::input, missing);
}

std::size_t zip_records::read_at(std::uint64_t at, std::span<std::byte> out) { return io::read_at(input_, at, out); }

// Finds the end record whose comment ends at the end of the file; otherwise the last one whose comment lies within the
// file, so that the message names the data after it.
std::uint64_t zip_records::find_end(std::uint64_t file_bytes) {
  const std::uint64_t begin = file_bytes - std::min<std::uint64_t>(file_bytes, end_bytes + max_comment_bytes);
  std::vector<std::byte> tail(static_cast<std::size_t>(file_bytes - begin));
  tail.resize(read_at(begin, tail));
  std::optional<std::uint64_t> with_trailing;
  for (std::size_t i = tail.size() < end_bytes ? 0 : tail.size() - end_bytes + 1; i-- > 0;) {
    const bytes_view record = bytes_view(tail).subspan(i);
    if (!has_magic(record, zip_end_magic)) continue;
    const std::size_t record_bytes = end_bytes + zip_number(record, 20, 2);
    if (record_bytes == record.size()) return begin + i;
    if (record_bytes < record.size() && !with_trailing) with_trailing = begin + i;
  }
  if (!with_trailing) fail("it has no end record", file_bytes, lack::end);
  return *with_trailing;
}

// Finds the directory from its size: it ends where the end records begin, even if other data precedes the archive.
std::uint64_t zip_records::find_directory(std::uint64_t end_at) {
  std::array<std::byte, end_bytes> end{};
  std::array<std::byte, locator_bytes> locator{};
  std::array<std::byte, end64_bytes> end64{};
  (void)read_at(end_at, end);
  std::uint64_t size = zip_number(end, 12, 4);
  std::uint64_t ends_at = end_at;
  const bool has_locator =
      end_at >= locator_bytes && read_at(end_at - locator_bytes, locator) > 0 && has_magic(locator, locator_magic);
  if (has_locator) {
    const std::uint64_t locator_at = end_at - locator_bytes;
    for (const std::uint64_t at :
         {zip_number(locator, 8, 8), locator_at - std::min<std::uint64_t>(locator_at, end64_bytes)}) {
      if (at >= locator_at || read_at(at, end64) < end64_bytes || !has_magic(end64, zip64_end_magic)) continue;
      size = zip_number(end64, 40, 8);
      ends_at = at;
      break;
    }
    if (ends_at == end_at) fail("it has no zip64 end record at the offset that its locator states", locator_at);
  }
  if (size > ends_at) fail("the end record names a directory of " + std::to_string(size) + " bytes", end_at);
  return ends_at - size;
}

zip_listing zip_records::read_directory(byte_sequence& input, std::size_t most) const {
  zip_listing read;
  while (has_magic(input.ahead(zip_entry_magic.size()), zip_entry_magic)) {
    if (read.entries.size() == most) {
      fail("its directory lists more members than the " + std::to_string(most) + " found", input.at());
    }
    read.entries.push_back(take_entry(input));
  }
  read.end = input.at();
  constexpr std::size_t signature_head = 6;
  const bytes_view signature = input.ahead(signature_head);
  if (!has_magic(signature, signature_magic) || signature.size() < signature_head) return read;
  const std::size_t size = signature_head + zip_number(signature, 4, 2);
  if (input.ahead(size).size() < size) fail("its directory ends early", input.at(), lack::end);
  input.pass(size);
  read.end = input.at();
  return read;
}

zip_entry zip_records::take_entry(byte_sequence& input) const {
  const bytes_view head = input.ahead(entry_bytes);
  if (head.size() < entry_bytes) fail("its directory ends early", input.at(), lack::end);
  constexpr unsigned made_by_unix = 3;
  const auto made_by = static_cast<unsigned>(zip_number(head, 5, 1));
  zip_entry entry{.header_at = zip_number(head, 42, 4),
                  .packed = zip_number(head, 20, 4),
                  .bytes = zip_number(head, 24, 4),
                  .crc = static_cast<std::uint32_t>(zip_number(head, 16, 4)),
                  .name_bytes = static_cast<std::uint16_t>(zip_number(head, 28, 2)),
                  .flags = static_cast<std::uint16_t>(zip_number(head, 8, 2)),
                  .method = static_cast<std::uint16_t>(zip_number(head, 10, 2))};
  if (made_by == made_by_unix) entry.type = static_cast<std::uint16_t>(zip_number(head, 40, 2) & type_mask);
  const std::size_t extra = zip_number(head, 30, 2);
  const std::size_t size = entry_bytes + entry.name_bytes + extra + zip_number(head, 32, 2);
  const bytes_view whole = input.ahead(size);
  if (whole.size() < size) fail("its directory ends early", input.at(), lack::end);
  entry.name_hash = zip_name_hash(whole.subspan(entry_bytes, entry.name_bytes));
  read_zip64_sizes(entry, whole.subspan(entry_bytes + entry.name_bytes, extra), input.at());
  input.pass(size);
  return entry;
}

void zip_records::read_zip64_sizes(zip_entry& entry, bytes_view extra, std::uint64_t at) const {
  constexpr std::size_t field_head = 4;
  constexpr unsigned zip64 = 1;
  while (extra.size() >= field_head) {
    const std::size_t size = zip_number(extra, 2, 2);
    if (size > extra.size() - field_head) fail("an entry of its directory has an extra field without an end", at);
    bytes_view field = extra.subspan(field_head, size);
    const bool is_zip64 = zip_number(extra, 0, 2) == zip64;
    extra = extra.subspan(field_head + size);
    if (!is_zip64) continue;
    for (std::uint64_t* const value : {&entry.bytes, &entry.packed, &entry.header_at}) {
      if (*value != in_zip64) continue;
      if (field.size() < sizeof *value) fail("an entry of its directory lacks a zip64 field", at);
      *value = zip_number(field, 0, sizeof *value);
      field = field.subspan(sizeof *value);
    }
    return;
  }
}

// Reads the zip64 end record and its locator, if there are any, and the end record with its comment.
zip_end_record zip_records::read_ends(byte_sequence& input) const {
  std::optional<zip_end_record> wide;
  const std::uint64_t wide_at = input.at();
  if (const bytes_view record = input.ahead(end64_bytes); has_magic(record, zip64_end_magic)) {
    constexpr std::size_t length_ends = 12;
    const std::uint64_t size = record.size() < end64_bytes ? 0 : zip_number(record, 4, 8) + length_ends;
    constexpr std::uint64_t longest = std::uint64_t{1} << 20U;
    if (size < end64_bytes || size > longest) fail("its zip64 end record has an invalid length", wide_at);
    wide = zip_end_record{.entries = zip_number(record, 32, 8),
                          .directory_bytes = zip_number(record, 40, 8),
                          .directory_at = zip_number(record, 48, 8)};
    if (input.ahead(static_cast<std::size_t>(size)).size() < size)
      fail("its zip64 end record ends early", wide_at, lack::end);
    input.pass(static_cast<std::size_t>(size));
    if (input.ahead(locator_bytes).size() < locator_bytes || !has_magic(input.ahead(locator_bytes), locator_magic)) {
      fail("its zip64 end record has no locator", input.at());
    }
    input.pass(locator_bytes);
  }
  const bytes_view end = input.ahead(end_bytes);
  if (end.size() < end_bytes || !has_magic(end, zip_end_magic)) {
    fail("other data is where an entry of the directory or the end record should be", input.at());
  }
  const zip_end_record narrow{.entries = zip_number(end, 10, 2),
                              .directory_bytes = zip_number(end, 12, 4),
                              .directory_at = zip_number(end, 16, 4)};
  if (wide && ((narrow.entries != 0xFFFF && narrow.entries != wide->entries) ||
               (narrow.directory_bytes != in_zip64 && narrow.directory_bytes != wide->directory_bytes) ||
               (narrow.directory_at != in_zip64 && narrow.directory_at != wide->directory_at))) {
    fail("its end record and its zip64 end record differ", input.at());
  }
  const std::size_t size = end_bytes + zip_number(end, 20, 2);
  if (input.ahead(size).size() < size) fail("the comment of its end record ends early", input.at(), lack::end);
  input.pass(size);
  return wide.value_or(narrow);
}

void zip_records::expect_nothing_more(byte_sequence& input) const {
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

bool ends_split_zip(byte_reader& file) {
  if (!file.seekable_bytes()) return false;
  std::array<std::byte, end_bytes> end{};
  try {
    zip_records records(file);
    (void)records.read_at(records.find_end(*file.seekable_bytes()), end);
  } catch (const input_error&) {
    return false;
  }
  return zip_number(end, 4, 2) != 0;  // the number of this file, from 0
}

bool begins_split_zip(byte_reader& file) {
  if (!file.seekable_bytes()) return false;
  std::array<std::byte, zip_split_magic.size()> head{};
  return io::read_at(file, 0, head) == head.size() && has_magic(head, zip_split_magic);
}

}  // namespace gpuhist::io
