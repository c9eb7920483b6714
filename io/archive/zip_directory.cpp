#include "io/archive/zip_directory.hpp"

#include "io/archive/zip_records.hpp"
#include "io/failure.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::io {
namespace {

using bytes_view = std::span<const std::byte>;

constexpr std::string_view descriptor_magic = "PK\x07\x08";
constexpr unsigned encrypted_flag = 1;
constexpr unsigned descriptor_flag = 8;
constexpr unsigned masked_flag = 0x2000;  // the fields of the local header are masked

constexpr std::uint16_t type_of_files = 0100000;
constexpr std::uint16_t type_of_links = 0120000;
constexpr std::uint16_t type_of_fifos = 0010000;  // zip stores it for a member that it read from a pipe

// The last `size` bytes of the tail, or all of it.
bytes_view tail_of(const zip_local& local, std::uint64_t size) {
  const auto known = bytes_view(local.tail).first(local.tail_bytes);
  return known.last(static_cast<std::size_t>(std::min<std::uint64_t>(size, known.size())));
}

// Whether the bytes after a member are a data descriptor: checksum and sizes (4 or 8 bytes each), with or without a
// magic number.
bool is_descriptor(const zip_entry& entry, const zip_local& local, std::uint64_t size) {
  if ((entry.flags & descriptor_flag) == 0 || size > local.tail.size()) return false;
  bytes_view found = tail_of(local, size);
  if (found.size() % 8 == 0 && has_magic(found, descriptor_magic)) found = found.subspan(descriptor_magic.size());
  const std::size_t width = (found.size() - 4) / 2;
  if (found.size() < 4 || (width != 4 && width != 8) || found.size() != 4 + 2 * width) return false;
  return zip_number(found, 0, 4) == entry.crc && zip_number(found, 4, width) == entry.packed &&
         zip_number(found, 4 + width, width) == entry.bytes;
}

// Whether the bytes are the signature of an Android package. It precedes the directory and states its size at its end.
bool is_signing_block(const zip_local& local, std::uint64_t size) {
  constexpr std::string_view magic = "APK Sig Block 42";
  const bytes_view tail = tail_of(local, size);
  if (size < local.tail.size() + 8 || tail.size() < local.tail.size()) return false;
  return has_magic(tail.subspan(8), magic) && zip_number(tail, 0, 8) + 8 == size;
}

class zip_check {
 public:
  /// `locals`: of an archive that cannot be read again.
  zip_check(byte_reader& input, std::span<const zip_walked> walked, std::span<const zip_local> locals = {})
      : input_(input), records_(input), walked_(walked), locals_(locals) {}

  void check_file(std::uint64_t file_bytes);
  void check_stream(std::uint64_t at);

 private:
  void check(std::uint64_t directory_at);
  void check_ends(const zip_end_record& stated) const;
  void compare_with_walk();
  void compare_entry(const zip_entry& entry, const zip_walked& found) const;
  void check_local_headers(std::uint64_t shift);
  zip_local local_header(std::size_t number, std::uint64_t at);
  void read_tail(zip_local& local, std::uint64_t next, std::uint64_t size);
  void compare_local(const zip_entry& entry, const zip_local& local) const;
  void check_front(std::uint64_t size);

  byte_reader& input_;
  zip_records records_;
  std::span<const zip_walked> walked_;
  std::span<const zip_local> locals_;
  bool is_file_ = false;
  zip_listing directory_;  // sorted by offset after all entries were read
  std::uint64_t directory_at_ = 0;
};

void zip_check::check_file(std::uint64_t file_bytes) {
  is_file_ = true;
  const std::uint64_t directory_at = records_.find_directory(records_.find_end(file_bytes));
  input_.seek(directory_at);
  check(directory_at);
}

void zip_check::check_stream(std::uint64_t at) { check(at); }

void zip_check::check(std::uint64_t directory_at) {
  directory_at_ = directory_at;
  byte_sequence rest(input_, directory_at_);
  directory_ = records_.read_directory(rest, walked_.size());
  const zip_end_record stated = records_.read_ends(rest);
  check_ends(stated);
  records_.expect_nothing_more(rest);
  if (stated.directory_at > directory_at_) {
    records_.fail("the directory is before the offset that the end record states", directory_.end);
  }
  compare_with_walk();
  check_local_headers(directory_at_ - stated.directory_at);
}

void zip_check::check_ends(const zip_end_record& stated) const {
  const std::uint64_t found = directory_.entries.size();
  // without zip64 the field has 16 bits, and some programs store only the lower 16 bits of a larger count
  if (stated.entries != found && (found <= 0xFFFF || stated.entries != (found & 0xFFFF))) {
    records_.fail("its end record states " + std::to_string(stated.entries) + " entries, but its directory has " +
                      std::to_string(found),
                  directory_.end);
  }
  if (stated.directory_bytes != directory_.end - directory_at_) {
    records_.fail("its end record states a directory of " + std::to_string(stated.directory_bytes) +
                      " bytes, but it has " + std::to_string(directory_.end - directory_at_),
                  directory_.end);
  }
}

void zip_check::compare_with_walk() {
  std::ranges::sort(directory_.entries, {}, &zip_entry::header_at);
  const auto shared = std::ranges::adjacent_find(directory_.entries, {}, &zip_entry::header_at);
  if (shared != directory_.entries.end()) {
    const auto count = std::ranges::count(directory_.entries, shared->header_at, &zip_entry::header_at);
    records_.fail(std::to_string(count) + " entries of its directory share one local header", shared->header_at);
  }
  if (directory_.entries.size() != walked_.size()) {
    records_.fail(std::to_string(walked_.size()) + (walked_.size() == 1 ? " member was" : " members were") +
                      " found, and its directory lists " + std::to_string(directory_.entries.size()),
                  directory_at_);
  }
  for (std::size_t i = 0; i < directory_.entries.size(); ++i) compare_entry(directory_.entries[i], walked_[i]);
}

void zip_check::compare_entry(const zip_entry& entry, const zip_walked& found) const {
  const bool is_link = entry.type == type_of_links;
  if (found.type == zip_walked::kind::not_a_file && entry.bytes > 0 && !is_link) {
    records_.fail("a member that is not a file has " + bytes_text(entry.bytes), entry.header_at);
  }
  if (found.type != zip_walked::kind::text) return;
  if (is_link) {
    throw input_error("a symbolic link was counted as a file, at " + input_.place_of(entry.header_at) +
                          "; its kind is in the directory, which follows it: give the archive as a file of its own",
                      0, failure_kind::refused);
  }
  const bool is_file = entry.type == 0 || entry.type == type_of_files || entry.type == type_of_fifos;
  if (!is_file && entry.bytes > 0) {
    records_.fail("its directory states that a member with bytes is not a file", entry.header_at);
  }
  if (found.bytes == entry.bytes && found.crc == entry.crc) return;
  const bool needs_file = !is_file_ && entry.method == 0 && (entry.flags & descriptor_flag) != 0;
  records_.fail("a member does not match its entry in the directory, which states " + bytes_text(entry.bytes) +
                    " or another checksum" + std::string(needs_file ? zip_needs_file : ""),
                entry.header_at);
}

// `shift`: size of the data in front of the archive.
void zip_check::check_local_headers(std::uint64_t shift) {
  for (std::size_t i = 0; i < directory_.entries.size(); ++i) {
    const zip_entry& entry = directory_.entries[i];
    const std::uint64_t at = entry.header_at + shift;
    if (i == 0) check_front(at);
    const bool is_last = i + 1 == directory_.entries.size();
    const std::uint64_t next = is_last ? directory_at_ : directory_.entries[i + 1].header_at + shift;
    if (at >= next) records_.fail("a local header is within or after the directory", at);
    zip_local local = local_header(i, at);
    compare_local(entry, local);
    const std::uint64_t end = local.data_at + entry.packed;
    if (end > next) records_.fail("two of its members overlap", at);
    if (end == next) continue;
    if (is_file_) read_tail(local, next, next - end);
    if (is_descriptor(entry, local, next - end) || (is_last && is_signing_block(local, next - end))) continue;
    records_.fail(
        bytes_text(next - end) + (next - end == 1 ? " belongs" : " belong") + " to no member that its directory lists",
        end);
  }
  if (directory_.entries.empty()) check_front(directory_at_);
}

// A self-extracting program may precede the first member; another member may not.
void zip_check::check_front(std::uint64_t size) {
  std::array<std::byte, zip_local_magic.size()> head{};
  if (size == 0 || records_.read_at(0, head) < head.size() || !has_magic(head, zip_local_magic)) return;
  records_.fail(
      bytes_text(size) + " in front" + (size == 1 ? " belongs" : " belong") + " to no member that its directory lists",
      0);
}

zip_local zip_check::local_header(std::size_t number, std::uint64_t at) {
  const auto fail = [&] { records_.fail("its directory lists an offset where no local header is", at); };
  if (!is_file_) {
    if (locals_[number].header_at != at) fail();
    return locals_[number];
  }
  std::vector<std::byte> header(zip_local_bytes + directory_.entries[number].name_bytes);
  if (records_.read_at(at, header) < header.size() || !has_magic(header, zip_local_magic)) fail();
  return zip_local_of(header, at);
}

void zip_check::read_tail(zip_local& local, std::uint64_t next, std::uint64_t size) {
  const auto wanted =
      std::span(local.tail).first(static_cast<std::size_t>(std::min<std::uint64_t>(size, local.tail.size())));
  local.tail_bytes = static_cast<std::uint16_t>(records_.read_at(next - wanted.size(), wanted));
}

void zip_check::compare_local(const zip_entry& entry, const zip_local& local) const {
  const auto compare = [&](bool same, const char* field) {
    if (same) return;
    records_.fail(std::string("a local header and its entry in the directory differ in their ") + field,
                  local.header_at);
  };
  if ((entry.flags & masked_flag) != 0) return;
  constexpr unsigned compared = encrypted_flag | descriptor_flag;
  compare((local.flags & compared) == (entry.flags & compared), "flags");
  compare(local.method == entry.method, "methods");
  compare(local.name_bytes == entry.name_bytes && local.name_hash == entry.name_hash, "names");
  // if checksum and sizes follow the member, these fields of the header are usually zero
  const bool follow = (entry.flags & descriptor_flag) != 0;
  // zip writes a check of the password, and sizes without the bytes of the encryption
  if (follow && (entry.flags & encrypted_flag) != 0) return;
  compare(local.crc == entry.crc || (follow && local.crc == 0), "checksums");
  const auto same = [&](std::uint64_t stated, std::uint64_t value) {
    return stated == value || (follow && stated == 0) || stated == in_zip64;
  };
  compare(same(local.packed, entry.packed) && same(local.bytes, entry.bytes), "sizes");
}

}  // namespace

zip_local zip_local_of(bytes_view header, std::uint64_t at) {
  const auto field = [header](std::size_t offset) { return static_cast<std::uint32_t>(zip_number(header, offset, 4)); };
  const auto half = [header](std::size_t offset) { return static_cast<std::uint16_t>(zip_number(header, offset, 2)); };
  const std::uint16_t name = half(26);
  return {.header_at = at,
          .data_at = at + zip_local_bytes + name + half(28),
          .name_hash = zip_name_hash(
              header.subspan(zip_local_bytes, std::min<std::size_t>(name, header.size() - zip_local_bytes))),
          .crc = field(14),
          .packed = field(18),
          .bytes = field(22),
          .name_bytes = name,
          .flags = half(6),
          .method = half(8)};
}

void check_zip_file(byte_reader& file, std::span<const zip_walked> walked) {
  zip_check(file, walked).check_file(file.seekable_bytes().value_or(0));
}

void check_zip_stream(byte_reader& rest, std::uint64_t at, std::span<const zip_walked> walked,
                      std::span<const zip_local> locals) {
  zip_check(rest, walked, locals).check_stream(at);
}

}  // namespace gpuhist::io
