// Wraps libarchive: callbacks that pull bytes, no filters, no files.
#include "io/archive/archive_reader.hpp"

#include "io/archive/libarchive_reports.hpp"
#include "io/archive/rpm_headers.hpp"
#include "io/archive/seven_zip_streams.hpp"
#include "io/failure.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <isa-l/crc.h>
#include <clocale>
#include <cstdio>
#include <cstring>

#include <algorithm>
#include <array>
#include <new>
#include <utility>

namespace gpuhist::io {
namespace {

constexpr std::size_t buffer_bytes = std::size_t{256} << 10U;
constexpr std::size_t buffer_bytes_ahead = std::size_t{64} << 10U;  // most members are skipped after their headers
// Including long names and the map of a sparse file.
constexpr std::uint64_t max_tar_header_bytes = std::uint64_t{16} << 20U;
constexpr std::string_view no_room_for_lzma = "lzma unknown error 10";  // LZMA_BUF_ERROR
constexpr std::string_view encrypted = "is encrypted, and gpuhist takes no passwords: extract it first";

// libarchive converts names that are stored in UTF-8 or UTF-16 to the locale of the thread. This locale makes it UTF-8.
class utf8_names {
 public:
  utf8_names() : before_(::uselocale(names())) {}
  utf8_names(const utf8_names&) = delete;
  utf8_names& operator=(const utf8_names&) = delete;
  ~utf8_names() { ::uselocale(before_); }

 private:
  static locale_t names() {
    static const locale_t utf8 = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    return utf8;  // null leaves the locale unchanged
  }

  locale_t before_;
};

// Setting up libarchive fails only if memory is exhausted.
void expect(int result) {
  if (result == ARCHIVE_FATAL) throw std::bad_alloc();
}

void choose_format(archive* reader, archive_kind kind) {
  switch (kind) {
    case archive_kind::tar:
      expect(::archive_read_support_format_tar(reader));
      // also reads archives after the first end mark (tar -A, or concatenated files)
      expect(::archive_read_set_format_option(reader, "tar", "read_concatenated_archives", "1"));
      break;
    case archive_kind::zip:
      expect(::archive_read_support_format_zip(reader));
      break;
    case archive_kind::seven_zip:
      expect(::archive_read_support_format_7zip(reader));
      break;
    case archive_kind::cpio:
      expect(::archive_read_support_format_cpio(reader));
      break;
    case archive_kind::ar:
      expect(::archive_read_support_format_ar(reader));
      break;
    case archive_kind::rpm:
    case archive_kind::none:
      break;
  }
}

}  // namespace

void archive_reader::deleter::operator()(archive* open) const { ::archive_read_free(open); }
void archive_reader::deleter::operator()(archive_entry* entry) const { ::archive_entry_free(entry); }

archive_reader::archive_reader(archive_kind kind, byte_reader& input, decoded_members* ahead)
    : kind_(kind),
      input_(input),
      ahead_(ahead),
      buffer_(ahead != nullptr && kind == archive_kind::zip ? buffer_bytes_ahead : buffer_bytes) {
  if (kind == archive_kind::seven_zip && !input.seekable_bytes()) {
    throw input_error(
        "is a 7z archive, which can only be read from a file of its own, not from a pipe, with --pass-through, or from "
        "within another file: its list of members is at its end",
        0, failure_kind::refused);
  }
  if (kind == archive_kind::zip && !input.seekable_bytes()) zip_stream_.emplace();
  make_handle();
}

void archive_reader::make_handle() {
  entry_.reset();
  archive_.reset(::archive_read_new());
  if (!archive_) throw std::bad_alloc();
  entry_.reset(::archive_entry_new2(archive_.get()));
  if (!entry_) throw std::bad_alloc();
  choose_format(archive_.get(), kind_);
  expect(::archive_read_set_callback_data(archive_.get(), this));
  expect(::archive_read_set_read_callback(archive_.get(), on_read));
  if (input_.seekable_bytes()) expect(::archive_read_set_seek_callback(archive_.get(), on_seek));
}

archive_reader::~archive_reader() = default;

void archive_reader::open() {
  if (kind_ == archive_kind::seven_zip) {
    try {
      list_bytes_ = check_seven_zip_start(input_);
    } catch (...) {
      keep_error();
      throw;
    }
  }
  const int result = ::archive_read_open1(archive_.get());
  rethrow_callback_error();
  if (result != ARCHIVE_OK) fail_as_libarchive();
}

std::ptrdiff_t archive_reader::on_read(archive* /*handle*/, void* self, const void** out) {
  auto& reader = *static_cast<archive_reader*>(self);
  try {
    reader.in_buffer_ = 0;
    if (reader.in_tar_header_) reader.check_header_bytes();
    if (reader.any_entry_) reader.has_decoded_text_ = true;  // 7z: the list was read before the first entry
    const std::size_t size = reader.in_buffer_ =
        (reader.rest_ ? *reader.rest_ : reader.input_).read(reader.room_for_read());
    const auto read = std::span(reader.buffer_).first(size);
    if (reader.kind_ == archive_kind::cpio) reader.cpio_.advance(read);
    if (reader.kind_ == archive_kind::tar) reader.tar_.advance(reader.position_, read);
    if (reader.zip_stream_) reader.zip_stream_->advance(read, reader.consumed());
    reader.input_ended_ = size == 0;
    reader.position_ += size;
    *out = reader.buffer_.data();
    return static_cast<std::ptrdiff_t>(size);
  } catch (...) {
    reader.callback_error_ = std::current_exception();
    return ARCHIVE_FATAL;
  }
}

// Reads of a 7z archive end at the same offsets wherever they begin: messages name the end of the last one, and the
// texts before it do not depend on what was read earlier.
std::span<std::byte> archive_reader::room_for_read() {
  if (kind_ != archive_kind::seven_zip) return buffer_;
  return std::span(buffer_).first(buffer_.size() - static_cast<std::size_t>(position_ % buffer_.size()));
}

// Limits the headers of a member: the map of a sparse file may compress to a thousandth of its size, and libarchive
// needs ten times its size in memory.
void archive_reader::check_header_bytes() const {
  const std::uint64_t begin = tar_.first_header_at().value_or(position_);
  if (position_ - begin <= max_tar_header_bytes) return;
  throw input_error("has a member with more than 16 MiB of headers, which is the limit, at " + input_.place_of(begin),
                    0, failure_kind::refused);
}

// The bytes that libarchive has passed: headers, skipped bytes, and the data that was read.
std::uint64_t archive_reader::consumed() const {
  return handle_at_ + static_cast<std::uint64_t>(std::max<std::int64_t>(0, ::archive_filter_bytes(archive_.get(), 0)));
}

std::int64_t archive_reader::on_seek(archive* /*handle*/, void* self, std::int64_t offset, int whence) {
  auto& reader = *static_cast<archive_reader*>(self);
  const auto size = static_cast<std::int64_t>(*reader.input_.seekable_bytes());
  const auto begin = static_cast<std::int64_t>(reader.handle_at_);
  const std::int64_t base = whence == SEEK_SET   ? begin
                            : whence == SEEK_END ? size
                                                 : static_cast<std::int64_t>(reader.position_);
  std::int64_t to = 0;
  if (__builtin_add_overflow(base, offset, &to) || to < begin || to > size) return ARCHIVE_FATAL;
  reader.input_.seek(static_cast<std::uint64_t>(to));
  // libarchive skips bytes of a member
  const auto target = static_cast<std::uint64_t>(to);
  if (reader.kind_ == archive_kind::cpio && target > reader.position_) reader.cpio_.skip(target - reader.position_);
  reader.position_ = static_cast<std::uint64_t>(to);
  reader.in_buffer_ = 0;
  return to - begin;
}

std::optional<std::string> archive_reader::next() {
  if (broken_) std::rethrow_exception(broken_);
  if (kind_ == archive_kind::rpm) return open_payload();
  const utf8_names names;
  for (;;) {
    if (!std::exchange(opened_, true)) open();
    skip_rest();
    archive_entry* const entry = entry_.get();  // libarchive does not check the allocation of its own entry
    in_tar_header_ = kind_ == archive_kind::tar;
    if (lacks_padding_ && ends_without_mark()) return std::nullopt;
    headers_at_ = consumed();
    const int result = ::archive_read_next_header2(archive_.get(), entry);
    rethrow_callback_error();
    if (kind_ == archive_kind::tar && tar_has_ended(result)) return std::nullopt;
    if (result == ARCHIVE_EOF) {
      check_end();
      if (kind_ == archive_kind::cpio && begins_again()) continue;
      return std::nullopt;
    }
    if (result != ARCHIVE_OK && result != ARCHIVE_WARN) {
      if (result == ARCHIVE_FAILED && fails_alone(entry)) return path_of(entry);
      fail_as_libarchive();
    }
    if (kind_ == archive_kind::tar) check_tar_member(result);
    if (kind_ == archive_kind::cpio) check_cpio_entry(entry);
    if (zip_stream_ && !zip_stream_->take_header(headers_at_)) fail_archive("cannot be followed, at " + error_place());
    check_name(entry);
    if (kind_ == archive_kind::ar && is_ar_index(entry)) continue;
    if (begins_member(entry)) return path_of(entry);
  }
}

// Whether only this member fails: in a seekable zip the directory locates the next header. In a stream the next header
// cannot be found reliably.
bool archive_reader::fails_alone(archive_entry* entry) {
  if (kind_ != archive_kind::zip || !input_.seekable_bytes() || path_of(entry).empty()) return false;
  reset_member(entry);
  any_entry_ = true;
  if (::archive_entry_is_encrypted(entry) != 0) {
    refusal_ = encrypted;
    refusal_kind_ = failure_kind::refused;
  } else {
    const bool is_link = ::archive_entry_filetype(entry) == AE_IFLNK;
    refusal_ = (is_link ? "is a symbolic link whose target cannot be read: " : "") + error_text();
    refusal_kind_ = error_kind();
  }
  return true;
}

// Limits names: they are kept until the result is written, and a name of a megabyte may compress to a kilobyte.
void archive_reader::check_name(archive_entry* entry) {
  constexpr std::size_t longest = std::size_t{64} << 10U;
  const std::size_t size = path_of(entry).size();
  if (size <= longest) return;
  fail_archive("has a member with a name of " + bytes_text(size) + ", more than the limit of " +
                   std::to_string(longest) + ", at " + error_place(),
               failure_kind::refused);
}

// Skips unread bytes of the member before the next header is read: tar_ needs the offset at which the headers begin.
void archive_reader::skip_rest() {
  if (!std::exchange(in_entry_, false) || lacks_padding_) return;
  if (size_ > 0) ++texts_;
  ended_ = true;
  if (has_taken_text_ && !is_decoded_) decode_skipped();
  const int result = ::archive_read_data_skip(archive_.get());
  rethrow_callback_error();
  if (result == ARCHIVE_FATAL) fail_as_libarchive();
  if (kind_ != archive_kind::tar) return;
  tar_.begin(consumed());
  tar_.advance(position_ - in_buffer_, std::span(buffer_).first(in_buffer_));
}

// In the cpio formats newc and crc the last hard link of a file has its bytes. libarchive reports the first one as an
// empty file.
bool archive_reader::has_bytes_in_later_link(archive_entry* entry) const {
  const int format = ::archive_format(archive_.get());
  const bool keeps_last = format == ARCHIVE_FORMAT_CPIO_SVR4_NOCRC || format == ARCHIVE_FORMAT_CPIO_SVR4_CRC;
  return keeps_last && ::archive_entry_nlink(entry) > 1;
}

// Whether the entry is a member. A hard link with bytes of its own is a file (cpio stores them with the last link). An
// entry that is not a file is skipped, unless it has bytes and its kind is not covered by a checksum of the header:
// such an entry fails as a member, because its kind may be damaged.
bool archive_reader::begins_member(archive_entry* entry) {
  in_entry_ = any_entry_ = true;
  in_tar_header_ = false;
  const auto type = static_cast<unsigned>(::archive_entry_filetype(entry));
  size_is_known_ = ::archive_entry_size_is_set(entry) != 0;
  const std::int64_t size = size_is_known_ ? ::archive_entry_size(entry) : 0;
  size_ = size > 0 ? static_cast<std::uint64_t>(size) : 0;
  // libarchive has read the target of a link, and reports a size of 0: what follows has another number
  if (type == AE_IFLNK) has_decoded_text_ = true;
  const bool is_fed_to_zip = kind_ == archive_kind::zip && type == AE_IFIFO && size_ > 0;  // producer | zip x.zip -
  const bool is_file = type == AE_IFREG || type == 0 || is_fed_to_zip;
  reset_member(entry);
  if (!is_file) {
    const std::uint64_t bytes = kind_ == archive_kind::tar ? size_ : std::max(size_, target_bytes(entry));
    const bool covered = kind_ == archive_kind::tar || kind_ == archive_kind::seven_zip;
    const bool plausible = bytes == 0 || (type == AE_IFLNK && could_be_target(entry, bytes));
    if (covered || plausible) {
      skip_entry(entry, kind_of(type), kind_name(type), bytes);
      return false;
    }
    refusal_ = "is a " + std::string(kind_name(type)) + " by its header, but has " + bytes_text(bytes);
  } else if (size_ == 0 && (::archive_entry_hardlink(entry) != nullptr || has_bytes_in_later_link(entry))) {
    skip_entry(entry, skipped_kind::link, "hard link", 0);
    return false;
  } else if (kind_ == archive_kind::tar && is_rest_of_file(entry)) {
    refusal_ = "is the rest of a file that begins in another volume; extract it with tar --multi-volume first";
    refusal_kind_ = failure_kind::refused;
  } else if (::archive_entry_is_encrypted(entry) != 0) {
    refusal_ = encrypted;
    refusal_kind_ = failure_kind::refused;
  }
  return true;
}

// Type flag M, for which libarchive sets no type; in volumes of the pax format, a file in a folder of this name.
bool archive_reader::is_rest_of_file(archive_entry* entry) const {
  if (tar_.continues_file() && path_of(entry).find("GNUFileParts/") != std::string::npos) return true;
  return ::archive_entry_filetype(entry) == 0 && size_ > 0 && ::archive_entry_hardlink(entry) == nullptr;
}

void archive_reader::reset_member(archive_entry* entry) {
  if (kind_ == archive_kind::zip) walked_.push_back({.type = zip_walked::kind::unread});
  refusal_.clear();
  refusal_kind_ = failure_kind::damaged;
  sparse_data_end_ = sparse_data_end(entry);
  delivered_ = hole_bytes_ = 0;
  crc_ = 0;
  ended_ = asked_ahead_ = is_decoded_ = false;
  block_ = {};
  pending_error_.clear();
  ends_early_ = false;
}

void archive_reader::skip_entry(archive_entry* entry, skipped_kind type, std::string_view kind, std::uint64_t bytes) {
  ended_ = true;
  if (kind_ == archive_kind::zip) walked_.back().type = zip_walked::kind::not_a_file;
  const auto known = std::ranges::find(skipped_, kind, &skipped_entries::kind);
  if (known == skipped_.end()) {
    skipped_.push_back({.type = type, .kind = kind, .count = 1, .bytes = bytes, .first = path_of(entry)});
  } else {
    ++known->count;
    known->bytes += bytes;
  }
}

std::span<const std::byte> archive_reader::read() {
  if (broken_) std::rethrow_exception(broken_);
  if (ended_) return {};
  if (!refusal_.empty()) fail_member(refusal_, refusal_kind_);
  if (ahead_ != nullptr && !std::exchange(asked_ahead_, true)) take_decoded();
  for (;;) {
    if (hole_bytes_ > 0) return take_hole();
    if (!block_.empty()) {
      delivered_ += block_.size();
      if (kind_ == archive_kind::zip && !is_decoded_) {
        crc_ = crc32_gzip_refl(crc_, reinterpret_cast<const std::uint8_t*>(block_.data()), block_.size());
      }
      return std::exchange(block_, {});
    }
    if (!pending_error_.empty()) fail_member(std::exchange(pending_error_, {}), pending_kind_);
    if (is_decoded_ || (take_block().empty() && hole_bytes_ == 0 && pending_error_.empty())) {
      ended_ = true;
      end_member();
      return {};
    }
  }
}

// Verifies the length: libarchive checks only the lower 32 bits for zip.
void archive_reader::end_member() {
  if (size_is_known_ && delivered_ != size_) {
    fail_member("has " + bytes_text(delivered_) + ", but the archive states " + bytes_text(size_));
  }
  if (kind_ == archive_kind::cpio) {
    const cpio_headers::entry& here = *cpio_.front();
    if (here.checksum && *here.checksum != here.sum) fail_member("does not match its checksum, a sum of its bytes");
  }
  if (kind_ == archive_kind::zip) walked_.back() = {.type = zip_walked::kind::text, .bytes = delivered_, .crc = crc_};
}

std::span<const std::byte> archive_reader::take_hole() {
  static constexpr std::array<std::byte, std::size_t{64} << 10U> zeros{};
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(hole_bytes_, zeros.size()));
  hole_bytes_ -= size;
  delivered_ += size;
  return std::span(zeros).first(size);
}

// libarchive has read the headers of the member: its packed bytes begin here. They remain unread, and libarchive skips
// them.
//
// The texts of a 7z archive are known by their numbers and names. As long as libarchive has decoded none, it decodes
// none that is skipped.
void archive_reader::take_decoded() {
  const bool is_of_7z = kind_ == archive_kind::seven_zip;
  if (!size_is_known_ || size_ == 0 || (is_of_7z && has_decoded_text_)) return;
  const auto text = ahead_->take(is_of_7z ? seven_zip_key(texts_, path_of(entry_.get())) : consumed());
  if (!text || text->bytes.size() != size_) return;
  block_ = text->bytes;
  crc_ = text->crc;
  is_decoded_ = true;
  has_taken_text_ = is_of_7z;
}

// If libarchive has decoded a text of a 7z archive, it decodes those that are skipped, which may fail. The texts that
// were taken over count as decoded by it: the result is the same without them.
void archive_reader::decode_skipped() {
  has_decoded_text_ = true;
  const void* bytes = nullptr;
  std::size_t size = 0;
  std::int64_t offset = 0;
  int result = ARCHIVE_OK;
  while (result == ARCHIVE_OK || result == ARCHIVE_WARN) {
    result = ::archive_read_data_block(archive_.get(), &bytes, &size, &offset);
  }
  rethrow_callback_error();
  if (result != ARCHIVE_EOF) fail_as_libarchive();
}

// Reads the next block into block_, hole_bytes_ and pending_error_; returns an empty span if there is none.
std::span<const std::byte> archive_reader::take_block() {
  has_decoded_text_ = true;
  for (;;) {
    const void* bytes = nullptr;
    std::size_t size = 0;
    auto offset = static_cast<std::int64_t>(delivered_);
    const int result = ::archive_read_data_block(archive_.get(), &bytes, &size, &offset);
    rethrow_callback_error();
    lacks_padding_ = result == ARCHIVE_FATAL && ends_in_padding();
    if (result == ARCHIVE_EOF || lacks_padding_) {
      if (sparse_data_end_ && delivered_ < *sparse_data_end_) {
        fail_member("is a sparse file whose map lists data up to offset " + std::to_string(*sparse_data_end_) +
                    ", and the archive holds data up to offset " + std::to_string(delivered_) + " only");
      }
      if (kind_ == archive_kind::tar && !lacks_padding_) check_tar_content();
      // no block follows the hole at the end of a sparse file
      if (sparse_data_end_ && size_ > delivered_) hole_bytes_ = size_ - delivered_;
      return {};
    }
    // the next member of a zip archive can still be read
    if (result != ARCHIVE_OK && result != ARCHIVE_WARN && kind_ != archive_kind::zip) {
      fail_as_libarchive();
    }
    if (result != ARCHIVE_OK) {
      // libarchive offers the decoder of LZMA no room for the text of an empty member
      if (size_is_known_ && size_ == 0 && message_of_libarchive() == no_room_for_lzma) return {};
      pending_error_ = error_text();
      pending_kind_ = error_kind();
      ends_early_ = input_ended_ && is_short(message_of_libarchive());
    }
    if (result == ARCHIVE_FATAL) size = 0;  // otherwise a checksum failed, which is reported with the last block
    if (bytes == nullptr || size == 0) {
      if (pending_error_.empty()) continue;
      return {};
    }
    const auto at = static_cast<std::uint64_t>(offset);
    if (at < delivered_) fail_member("has extents that overlap, at " + input_.place_of(position_));
    hole_bytes_ = at - delivered_;
    return block_ = {static_cast<const std::byte*>(bytes), size};
  }
}

std::string_view archive_reader::message_of_libarchive() const {
  const char* const message = ::archive_error_string(archive_.get());
  return message != nullptr ? message : "";
}

// Of a member by bzip2 or LZMA whose length follows it, libarchive decodes nothing; of a stored one it searches the
// end.
failure_kind archive_reader::error_kind() const {
  const bool is_unread = length_follows() && zip_stream_->members().back().method != 0;
  return is_unread ? failure_kind::refused : meaning_of(message_of_libarchive()).kind;
}

// Whether the length of the last member follows it, in a zip archive that is read once. Only deflated data has an end.
bool archive_reader::length_follows() const {
  constexpr unsigned descriptor_flag = 8;
  constexpr unsigned deflated = 8;
  if (!zip_stream_ || zip_stream_->members().empty()) return false;
  const zip_local& last = zip_stream_->members().back();
  return (last.flags & descriptor_flag) != 0 && last.method != deflated;
}

std::string archive_reader::error_text() const {
  const std::string_view words = message_of_libarchive();
  const std::string_view remedy = meaning_of(words).remedy;
  const bool needs_length = length_follows() && remedy.empty();
  return clause_of(words, input_ended_ && !needs_length) + ", at " + error_place() +
         (remedy.empty() ? "" : "; " + std::string(remedy)) + std::string(needs_length ? zip_needs_file : "");
}

// For tar the offset of the header, and for zip that of the data: libarchive has read further.
std::string archive_reader::error_place() const {
  const std::uint64_t read = kind_ == archive_kind::zip ? std::min(position_, consumed()) : position_;
  return input_.place_of(in_tar_header_ ? tar_.header_at() : read);
}

void archive_reader::rethrow_callback_error() {
  if (!callback_error_) return;
  broken_ = std::exchange(callback_error_, nullptr);
  ended_ = true;
  in_entry_ = false;
  std::rethrow_exception(broken_);
}

void archive_reader::fail_archive(const std::string& message, failure_kind kind, lack missing) {
  ended_ = true;
  in_entry_ = false;
  broken_ = std::make_exception_ptr(input_error(message, 0, kind, failure_origin::input, missing));
  std::rethrow_exception(broken_);
}

void archive_reader::fail_as_libarchive() {
  const bool lacks_end = input_ended_ && is_short(message_of_libarchive()) && !length_follows();
  fail_archive(error_text(), error_kind(), lacks_end ? lack::end : lack::nothing);
}

void archive_reader::keep_error() {
  ended_ = true;
  in_entry_ = false;
  broken_ = std::current_exception();
}

void archive_reader::fail_member(const std::string& message, failure_kind kind) { throw input_error(message, 0, kind); }

}  // namespace gpuhist::io
