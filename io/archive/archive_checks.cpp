// The checks of archive_reader that libarchive does not make: end marks, missing headers, and data after the end.
#include "io/archive/archive_reader.hpp"
#include "io/archive/libarchive_reports.hpp"
#include "io/archive/rpm_headers.hpp"
#include "io/archive/zip_records.hpp"
#include "io/failure.hpp"
#include "io/format.hpp"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace gpuhist::io {
namespace {

// libarchive ignores a record of a pax header that it cannot parse, and warns: then the name, size or holes of the
// member are wrong. The warnings listed here concern only names and permissions.
bool is_harmless(std::string_view warning) {
  return warning.find("can't be converted from") != std::string_view::npos ||
         warning.starts_with("Malformed Solaris ACL") || warning.starts_with("Parse error:  SCHILY.acl.");
}

std::vector<std::byte> joined(std::span<const std::byte> first, std::span<const std::byte> second) {
  std::vector<std::byte> both(first.begin(), first.end());
  both.insert(both.end(), second.begin(), second.end());
  return both;
}

}  // namespace

void archive_reader::check_end() {
  switch (kind_) {
    case archive_kind::zip:
      return check_zip_end();
    case archive_kind::cpio:
      return check_cpio_end();
    case archive_kind::seven_zip:
      // libarchive treats some lists that it cannot parse as empty
      if (!any_entry_ && list_bytes_ > 0) fail_archive("has a list of members, but no member was found in it");
      return;
    case archive_kind::ar:
      return check_ar_end();
    case archive_kind::tar:
    case archive_kind::rpm:
    case archive_kind::none:
      return;
  }
}

// Checks the end mark, and the member after special headers: libarchive checks neither. It treats zeros after the mark
// that do not fill a block as a truncated header.
bool archive_reader::tar_has_ended(int result) {
  if (const auto& error = tar_.first_error()) {
    fail_archive((error->kind == failure_kind::refused ? "has " : "damaged tar archive: ") + error->cause + ", at " +
                     input_.place_of(error->at),
                 error->kind);
  }
  if (result == ARCHIVE_OK || result == ARCHIVE_WARN) return false;
  if (tar_.has_index()) {
    notice_ = {.kind = notice_kind::trailing_data,
               .text = "holds the index of pixz after its end, which was not counted"};
  }
  if (tar_.has_end_mark()) return true;
  if (result != ARCHIVE_EOF && !input_ended_) return false;
  if (!tar_.is_within_header()) return ends_without_mark();
  fail_archive("ends early, within the header of a member, at " + input_.place_of(position_), failure_kind::damaged,
               lack::end);
}

// Whether libarchive misses only zeros after the content of the member.
bool archive_reader::ends_in_padding() const {
  const std::uint64_t end = sparse_data_end_.value_or(size_);
  constexpr std::uint64_t block_bytes = 512;
  return kind_ == archive_kind::tar && input_ended_ && delivered_ >= end && position_ < tar_.content_end() &&
         tar_.content_end() - position_ < block_bytes;
}

// After a member, a checksum around the whole archive shows that nothing is missing: its writer wrote no end.
bool archive_reader::ends_without_mark() {
  const bool follows_member = any_entry_ && (lacks_padding_ || !tar_.first_header_at());
  if (!follows_member || !input_.end_is_verified()) {
    fail_archive("ends early, without the mark of a tar archive's end, at " + input_.place_of(position_),
                 failure_kind::damaged, lack::end);
  }
  notice_ = {.kind = notice_kind::no_end_blocks,
             .text = "has no zero blocks at its end; what is around the archive verifies that nothing is missing"};
  return true;
}

void archive_reader::check_tar_member(int result) {
  if (!tar_.has_member()) fail_archive("damaged tar archive: the header of a member is inconsistent: " + error_text());
  const char* const warning = ::archive_error_string(archive_.get());
  if (result == ARCHIVE_OK || (warning != nullptr && is_harmless(warning))) return;
  fail_archive("damaged tar archive: the header of a member: " + error_text());
}

// libarchive reads only the content of a sparse file that the map lists, and then continues within the member.
void archive_reader::check_tar_content() {
  const std::uint64_t end = consumed();
  if (end == tar_.content_end()) return;
  fail_archive("damaged tar archive: a member has content that the map of a sparse file does not list, at " +
               input_.place_of(end));
}

// Compares the entry with the headers: if a header is missing, libarchive searches for the next one and does not always
// report it.
void archive_reader::check_cpio_entry(archive_entry* entry) {
  if (std::exchange(at_cpio_entry_, true) && cpio_.front() != nullptr) cpio_.pop();
  const cpio_headers::entry* const expected = cpio_.front();
  if (expected == nullptr) fail_cpio();
  if (::archive_entry_size(entry) == static_cast<std::int64_t>(expected->bytes)) return;
  fail_archive("damaged cpio archive: no header is found where one should be, at " +
               input_.place_of(expected->header_at));
}

void archive_reader::fail_cpio() {
  fail_archive("damaged cpio archive: no header is found where one should be, or a member has a wrong length, at " +
               input_.place_of(cpio_.broken_at().value_or(position_)));
}

void archive_reader::check_cpio_end() {
  if (at_cpio_entry_ && cpio_.front() != nullptr) cpio_.pop();
  if (cpio_.front() != nullptr || !cpio_.has_ended()) fail_cpio();
}

// Whether another cpio archive follows the end, after any zeros, as in an initial RAM disk. libarchive ends at the end
// of the first one: another handle reads it. Compressed data that follows is left to the caller.
bool archive_reader::begins_again() {
  const std::uint64_t end = consumed();
  const auto unread = std::span(buffer_).first(in_buffer_).last(static_cast<std::size_t>(position_ - end));
  rest_of_input rest(joined(unread, rest_ ? rest_->first() : std::span<const std::byte>{}), input_);
  byte_sequence following(rest, end);
  for (auto ahead = following.ahead(archive_head_bytes);; ahead = following.ahead(archive_head_bytes)) {
    if (ahead.empty()) return false;
    const auto zeros = std::ranges::find_if(ahead, [](std::byte each) { return each != std::byte{0}; }) - ahead.begin();
    if (zeros == 0) break;
    following.pass(static_cast<std::size_t>(zeros));
  }
  const auto head = following.ahead(archive_head_bytes);
  const bool is_cpio = detect_archive(head) == archive_kind::cpio;
  has_following_ = !is_cpio && detect(head).make_decoder != nullptr;
  if (!is_cpio && !has_following_) {
    fail_archive("holds other data after its end, which was not counted, at " + input_.place_of(following.at()));
  }
  handle_at_ = position_ = following.at();
  rest_.emplace(joined(following.buffered(), rest.first()), input_);
  in_buffer_ = 0;
  if (has_following_) return false;
  cpio_ = cpio_headers(handle_at_);
  at_cpio_entry_ = opened_ = false;
  make_handle();
  return true;
}

// libarchive reports the list of long names and the symbols of a library as members. What begins with "data.tar" has
// the files of a Debian package.
bool archive_reader::is_ar_index(archive_entry* entry) {
  const std::string path = path_of(entry);
  is_package_ |= !any_entry_ && path == "debian-binary";
  has_its_data_ |= path.starts_with("data.tar");
  in_entry_ = any_entry_ = true;
  return path == "/" || path == "//" || path == "/SYM64/" || path.starts_with("__.SYMDEF");
}

// The format has no mark of its end. libarchive takes a header that was cut for the end.
void archive_reader::check_ar_end() {
  const std::uint64_t end = consumed();
  if (end != position_) {
    fail_archive("ends early, within the header of a member, at " + input_.place_of(position_), failure_kind::damaged,
                 lack::end);
  }
  if (!is_package_ || has_its_data_) return;
  fail_archive("is a Debian package that ends early, without its member data.tar, at " + input_.place_of(end),
               failure_kind::damaged, lack::end);
}

// The package has no members of its own: what follows its headers has them.
std::optional<std::string> archive_reader::open_payload() {
  if (std::exchange(opened_, true)) return std::nullopt;
  try {
    byte_sequence package(input_, 0);
    pass_rpm_headers(package, input_);
    handle_at_ = package.at();
    rest_.emplace(joined(package.buffered(), {}), input_);
    has_following_ = true;
  } catch (...) {
    keep_error();
    throw;
  }
  return std::nullopt;
}

void archive_reader::check_zip_end() {
  try {
    if (const auto size = input_.seekable_bytes()) {
      check_zip_file(input_, walked_);
      input_.seek(*size);
      return;
    }
    const std::uint64_t directory_at = zip_stream_->take_directory(headers_at_);
    rest_of_input rest(joined(zip_stream_->bytes_from(directory_at), {}), input_);
    check_zip_stream(rest, directory_at, walked_, zip_stream_->members());
  } catch (...) {
    keep_error();
    throw;
  }
}

}  // namespace gpuhist::io
