// libarchive behind a narrow door: callbacks that pull, no filters, no files.
#include "io/archive/archive_reader.hpp"

#include "io/input_error.hpp"

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
constexpr std::uint64_t longest_tar_header = std::uint64_t{16} << 20U;  // with names and the map of a sparse file
constexpr std::string_view encrypted = "is encrypted, and gpuhist takes no passwords: extract it first";

// Names that an archive keeps in UTF-8 or UTF-16 come as UTF-8, whatever the locale of the process: libarchive asks the
// thread's.
class utf8_names {
 public:
  utf8_names() : before_(::uselocale(names())) {}
  utf8_names(const utf8_names&) = delete;
  utf8_names& operator=(const utf8_names&) = delete;
  ~utf8_names() { ::uselocale(before_); }

 private:
  static locale_t names() {
    static const locale_t utf8 = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    return utf8;  // null changes nothing
  }

  locale_t before_;
};

std::string path_of(archive_entry* entry) {
  if (const char* stored = ::archive_entry_pathname(entry)) return stored;
  if (const char* utf8 = ::archive_entry_pathname_utf8(entry)) return utf8;
  return {};
}

// Where setting up fails, that is for want of memory.
void expect(int result) {
  if (result == ARCHIVE_FATAL) throw std::bad_alloc();
}

void choose_format(archive* to, archive_kind kind) {
  switch (kind) {
    case archive_kind::tar:
      expect(::archive_read_support_format_tar(to));
      // tar -A, and cat of several: what follows an end is read as well
      expect(::archive_read_set_format_option(to, "tar", "read_concatenated_archives", "1"));
      break;
    case archive_kind::zip:
      expect(::archive_read_support_format_zip(to));
      break;
    case archive_kind::seven_zip:
      expect(::archive_read_support_format_7zip(to));
      break;
    case archive_kind::cpio:
      expect(::archive_read_support_format_cpio(to));
      break;
    case archive_kind::none:
      break;
  }
}

std::string_view kind_name(unsigned type) {
  switch (type) {
    case AE_IFDIR:
      return "directory";
    case AE_IFLNK:
      return "symbolic link";
    case AE_IFCHR:
    case AE_IFBLK:
      return "device";
    case AE_IFIFO:
      return "FIFO";
    case AE_IFSOCK:
      return "socket";
    default:
      return "entry of an unknown kind";
  }
}

std::uint64_t target_bytes(archive_entry* link) {
  const char* const target = ::archive_entry_symlink(link);
  return target == nullptr ? 0 : std::strlen(target);
}

// The target of a link, as Linux takes it, has no zeros and is no longer than this: what has or is, is text whose kind
// was damaged.
bool could_be_target(archive_entry* link, std::uint64_t size) {
  constexpr std::uint64_t longest = 4096;
  return size <= longest && target_bytes(link) + 1 >= size;
}

// libarchive ignores a record of a pax header that it cannot parse, and warns: then name, size or holes of the member
// are wrong. These warnings concern names and permissions only.
bool is_harmless(std::string_view warning) {
  return warning.find("can't be converted from") != std::string_view::npos ||
         warning.starts_with("Malformed Solaris ACL") || warning.starts_with("Parse error:  SCHILY.acl.");
}

// The bytes of a stream that libarchive has read ahead, and then those that it has not read.
class rest_of_stream final : public byte_reader {
 public:
  rest_of_stream(std::span<const std::byte> first, byte_reader& from) : first_(first), from_(from) {}

  std::size_t read(std::span<std::byte> out) override {
    if (first_.empty()) return from_.read(out);
    const std::size_t size = std::min(first_.size(), out.size());
    std::copy_n(first_.begin(), size, out.begin());
    first_ = first_.subspan(size);
    return size;
  }

  [[nodiscard]] std::string place_of(std::uint64_t offset) const override { return from_.place_of(offset); }

 private:
  std::span<const std::byte> first_;
  byte_reader& from_;
};

}  // namespace

void archive_reader::closer::operator()(archive* open) const { ::archive_read_free(open); }
void archive_reader::closer::operator()(archive_entry* entry) const { ::archive_entry_free(entry); }

archive_reader::archive_reader(archive_kind kind, byte_reader& from)
    : kind_(kind),
      from_(from),
      buffer_(buffer_bytes),
      archive_(::archive_read_new()),
      entry_(::archive_entry_new2(archive_.get())) {
  if (!archive_ || !entry_) throw std::bad_alloc();
  if (kind == archive_kind::seven_zip && !from.seekable_bytes()) {
    throw input_error(
        "is a 7z archive, which can only be read from a file of its own, not from a pipe, as it is handed on "
        "(--pass-through), or from within something else: its list of members is at its end",
        0, failure_kind::refused);
  }
  choose_format(archive_.get(), kind);
  expect(::archive_read_set_callback_data(archive_.get(), this));
  expect(::archive_read_set_read_callback(archive_.get(), on_read));
  if (from.seekable_bytes()) expect(::archive_read_set_seek_callback(archive_.get(), on_seek));
}

archive_reader::~archive_reader() = default;

void archive_reader::open() {
  if (kind_ == archive_kind::seven_zip) check_seven_zip_start();
  const int result = ::archive_read_open1(archive_.get());
  rethrow_from_below();
  if (result != ARCHIVE_OK) break_off(words_of_fault());
}

std::ptrdiff_t archive_reader::on_read(archive* /*of*/, void* self, const void** out) {
  auto& reader = *static_cast<archive_reader*>(self);
  try {
    if (reader.kind_ == archive_kind::zip && !reader.from_.seekable_bytes()) reader.keep_unconsumed();
    reader.in_buffer_ = 0;
    if (reader.in_tar_header_) reader.check_header_bytes();
    const std::size_t size = reader.in_buffer_ = reader.from_.read(reader.buffer_);
    const auto read = std::span(reader.buffer_).first(size);
    if (reader.kind_ == archive_kind::cpio) {
      reader.cpio_.advance(read);
      const auto last = std::ranges::find_if(read.rbegin(), read.rend(), [](std::byte b) { return b != std::byte{0}; });
      if (last != read.rend()) reader.nonzero_end_ = reader.given_ + static_cast<std::uint64_t>(read.rend() - last);
    }
    if (reader.kind_ == archive_kind::tar) reader.tar_.advance(reader.given_, read);
    reader.at_end_ = size == 0;
    reader.given_ += size;
    *out = reader.buffer_.data();
    return static_cast<std::ptrdiff_t>(size);
  } catch (...) {
    reader.from_below_ = std::current_exception();
    return ARCHIVE_FATAL;
  }
}

// The map of a sparse file may compress to a thousandth of its size, and takes ten times its size in memory.
void archive_reader::check_header_bytes() const {
  const std::uint64_t begin = tar_.first_header_at().value_or(given_);
  if (given_ - begin <= longest_tar_header) return;
  throw input_error("has a member with more than 16 MiB of headers, which is the limit, at " + from_.place_of(begin), 0,
                    failure_kind::refused);
}

// The directory of a zip that is a stream begins somewhere in what libarchive has read ahead.
void archive_reader::keep_unconsumed() {
  const auto consumed =
      static_cast<std::uint64_t>(std::max<std::int64_t>(0, ::archive_filter_bytes(archive_.get(), 0)));
  unconsumed_.insert(unconsumed_.end(), buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(in_buffer_));
  const std::uint64_t begin = given_ - unconsumed_.size();
  const std::uint64_t gone = std::min<std::uint64_t>(consumed - std::min(consumed, begin), unconsumed_.size());
  unconsumed_.erase(unconsumed_.begin(), unconsumed_.begin() + static_cast<std::ptrdiff_t>(gone));
}

std::int64_t archive_reader::on_seek(archive* /*of*/, void* self, std::int64_t offset, int whence) {
  auto& reader = *static_cast<archive_reader*>(self);
  const auto size = static_cast<std::int64_t>(*reader.from_.seekable_bytes());
  const std::int64_t base = whence == SEEK_SET   ? 0
                            : whence == SEEK_END ? size
                                                 : static_cast<std::int64_t>(reader.given_);
  std::int64_t to = 0;
  if (__builtin_add_overflow(base, offset, &to) || to < 0 || to > size) return ARCHIVE_FATAL;
  reader.from_.seek(static_cast<std::uint64_t>(to));
  // bytes of a member that is not wanted
  const auto target = static_cast<std::uint64_t>(to);
  if (reader.kind_ == archive_kind::cpio && target > reader.given_) reader.cpio_.skip(target - reader.given_);
  reader.given_ = static_cast<std::uint64_t>(to);
  reader.in_buffer_ = 0;
  return to;
}

std::optional<std::string> archive_reader::next() {
  if (broken_) std::rethrow_exception(broken_);
  const utf8_names names;
  if (!std::exchange(opened_, true)) open();
  for (;;) {
    skip_rest();
    archive_entry* const entry = entry_.get();  // libarchive does not check whether it could make its own
    in_tar_header_ = kind_ == archive_kind::tar;
    const int result = ::archive_read_next_header2(archive_.get(), entry);
    rethrow_from_below();
    if (kind_ == archive_kind::tar && tar_has_ended(result)) return std::nullopt;
    if (result == ARCHIVE_EOF) {
      check_end();
      return std::nullopt;
    }
    if (result != ARCHIVE_OK && result != ARCHIVE_WARN) {
      if (result == ARCHIVE_FAILED && fails_alone(entry)) return path_of(entry);
      break_off(words_of_fault());
    }
    if (kind_ == archive_kind::tar) check_tar_member(result);
    if (kind_ == archive_kind::cpio) check_cpio_entry(entry);
    check_name(entry);
    if (begins_member(entry)) return path_of(entry);
  }
}

// In a zip that is a file the directory says where the next header is, whatever could be read of this one. From a pipe
// the next one cannot be found reliably.
bool archive_reader::fails_alone(archive_entry* entry) {
  if (kind_ != archive_kind::zip || !from_.seekable_bytes() || path_of(entry).empty()) return false;
  reset_member(entry);
  any_entry_ = true;
  if (::archive_entry_is_encrypted(entry) != 0) {
    refusal_ = encrypted;
    refusal_kind_ = failure_kind::refused;
  } else {
    const bool is_link = ::archive_entry_filetype(entry) == AE_IFLNK;
    refusal_ = (is_link ? "is a symbolic link whose target cannot be read: " : "") + words_of_fault();
  }
  return true;
}

// Names stay in memory until the result is written, and one of a megabyte compresses to a kilobyte.
void archive_reader::check_name(archive_entry* entry) {
  constexpr std::size_t longest = std::size_t{64} << 10U;
  const std::size_t size = path_of(entry).size();
  if (size <= longest) return;
  break_off("has a member with a name of " + std::to_string(size) + " bytes, more than the limit of " +
                std::to_string(longest) + ", at " + place_of_fault(),
            failure_kind::refused);
}

// libarchive would do it by itself, but only before the next header: where a tar's headers begin is to be known.
void archive_reader::skip_rest() {
  if (!std::exchange(in_entry_, false)) return;
  ended_ = true;
  const int result = ::archive_read_data_skip(archive_.get());
  rethrow_from_below();
  if (result == ARCHIVE_FATAL) break_off(words_of_fault());
  if (kind_ != archive_kind::tar) return;
  tar_.begin(static_cast<std::uint64_t>(::archive_filter_bytes(archive_.get(), 0)));
  tar_.advance(given_ - in_buffer_, std::span(buffer_).first(in_buffer_));
}

// In newc and crc the last hard link of a file has its bytes. libarchive reports the first one as an empty file.
bool archive_reader::has_bytes_in_later_link(archive_entry* entry) const {
  const int format = ::archive_format(archive_.get());
  const bool keeps_last = format == ARCHIVE_FORMAT_CPIO_SVR4_NOCRC || format == ARCHIVE_FORMAT_CPIO_SVR4_CRC;
  return keeps_last && ::archive_entry_nlink(entry) > 1;
}

// A hard link with bytes of its own is a file (cpio keeps them with the last link). What is no file is passed over; but
// bytes that no checksum of the header protects from being taken for something else are not: they fail as a member.
bool archive_reader::begins_member(archive_entry* entry) {
  in_entry_ = any_entry_ = true;
  in_tar_header_ = false;
  const auto type = static_cast<unsigned>(::archive_entry_filetype(entry));
  size_is_known_ = ::archive_entry_size_is_set(entry) != 0;
  const std::int64_t size = size_is_known_ ? ::archive_entry_size(entry) : 0;
  size_ = size > 0 ? static_cast<std::uint64_t>(size) : 0;
  const bool is_fed_to_zip = kind_ == archive_kind::zip && type == AE_IFIFO && size_ > 0;  // producer | zip x.zip -
  const bool is_file = type == AE_IFREG || type == 0 || is_fed_to_zip;
  reset_member(entry);
  if (!is_file) {
    const std::uint64_t bytes = kind_ == archive_kind::tar ? size_ : std::max(size_, target_bytes(entry));
    const bool covered = kind_ == archive_kind::tar || kind_ == archive_kind::seven_zip;
    const bool plausible = bytes == 0 || (type == AE_IFLNK && could_be_target(entry, bytes));
    if (covered || plausible) {
      skip_entry(entry, kind_name(type), bytes);
      return false;
    }
    refusal_ = "is a " + std::string(kind_name(type)) + " by its header, but has " + std::to_string(bytes) + " bytes";
  } else if (size_ == 0 && (::archive_entry_hardlink(entry) != nullptr || has_bytes_in_later_link(entry))) {
    skip_entry(entry, "hard link", 0);
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

// Type flag M, for which libarchive sets no type; in volumes of the format pax, a file in a folder of this name.
bool archive_reader::is_rest_of_file(archive_entry* entry) const {
  if (tar_.continues_file() && path_of(entry).find("GNUFileParts/") != std::string::npos) return true;
  return ::archive_entry_filetype(entry) == 0 && size_ > 0 && ::archive_entry_hardlink(entry) == nullptr;
}

void archive_reader::reset_member(archive_entry* entry) {
  if (kind_ == archive_kind::zip) walked_.push_back({.what = zip_walked::kind::unread});
  refusal_.clear();
  refusal_kind_ = failure_kind::damaged;
  read_sparse_map(entry);
  had_ = hole_ = 0;
  crc_ = 0;
  ended_ = false;
  block_ = {};
  fault_.clear();
}

void archive_reader::read_sparse_map(archive_entry* entry) {
  sparse_ = ::archive_entry_sparse_count(entry) > 0;  // which may free the list
  extents_end_ = 0;
  if (!sparse_) return;
  ::archive_entry_sparse_reset(entry);
  std::int64_t offset = 0;
  std::int64_t length = 0;
  while (::archive_entry_sparse_next(entry, &offset, &length) == ARCHIVE_OK) {
    if (length > 0) extents_end_ = static_cast<std::uint64_t>(offset) + static_cast<std::uint64_t>(length);
  }
}

void archive_reader::skip_entry(archive_entry* entry, std::string_view kind, std::uint64_t bytes) {
  ended_ = true;
  if (kind_ == archive_kind::zip) walked_.back().what = zip_walked::kind::no_file;
  const auto known = std::ranges::find(skipped_, kind, &skipped_entries::kind);
  if (known == skipped_.end()) {
    skipped_.push_back({.kind = kind, .count = 1, .bytes = bytes, .first = path_of(entry)});
  } else {
    ++known->count;
    known->bytes += bytes;
  }
}

std::span<const std::byte> archive_reader::read() {
  if (broken_) std::rethrow_exception(broken_);
  if (ended_) return {};
  if (!refusal_.empty()) fail_member(refusal_, refusal_kind_);
  for (;;) {
    if (hole_ > 0) return take_hole();
    if (!block_.empty()) {
      had_ += block_.size();
      if (kind_ == archive_kind::zip) {
        crc_ = crc32_gzip_refl(crc_, reinterpret_cast<const std::uint8_t*>(block_.data()), block_.size());
      }
      return std::exchange(block_, {});
    }
    if (!fault_.empty()) fail_member(std::exchange(fault_, {}));
    if (take_block().empty() && hole_ == 0 && fault_.empty()) {
      ended_ = true;
      end_member();
      return {};
    }
  }
}

// libarchive looks at the lower 32 bits of a zip's only.
void archive_reader::end_member() {
  if (size_is_known_ && had_ != size_) {
    fail_member("has " + std::to_string(had_) + " bytes, and the archive says that it has " + std::to_string(size_));
  }
  if (kind_ == archive_kind::cpio) {
    const cpio_headers::entry& here = *cpio_.front();
    if (here.checksum && *here.checksum != here.sum) fail_member("does not match its checksum, which is a sum");
  }
  if (kind_ == archive_kind::zip) walked_.back() = {.what = zip_walked::kind::text, .bytes = had_, .crc = crc_};
}

std::span<const std::byte> archive_reader::take_hole() {
  static constexpr std::array<std::byte, std::size_t{64} << 10U> zeros{};
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(hole_, zeros.size()));
  hole_ -= size;
  had_ += size;
  return std::span(zeros).first(size);
}

// Into block_, hole_ and fault_; empty where there is none.
std::span<const std::byte> archive_reader::take_block() {
  for (;;) {
    const void* bytes = nullptr;
    std::size_t size = 0;
    auto offset = static_cast<std::int64_t>(had_);
    const int result = ::archive_read_data_block(archive_.get(), &bytes, &size, &offset);
    rethrow_from_below();
    if (result == ARCHIVE_EOF) {
      if (sparse_ && had_ < extents_end_) {
        fail_member("is a sparse file whose map lists data up to offset " + std::to_string(extents_end_) +
                    ", and the archive holds data up to offset " + std::to_string(had_) + " only");
      }
      if (kind_ == archive_kind::tar) check_tar_content();
      // the hole at the end of a sparse file has no block after it
      if (sparse_ && size_ > had_) hole_ = size_ - had_;
      return {};
    }
    // the next member of a zip archive can be had all the same
    if (result != ARCHIVE_OK && result != ARCHIVE_WARN && kind_ != archive_kind::zip) break_off(words_of_fault());
    if (result != ARCHIVE_OK) fault_ = words_of_fault();
    if (result == ARCHIVE_FATAL) size = 0;  // else it is a checksum, which is told with the last block
    if (bytes == nullptr || size == 0) {
      if (fault_.empty()) continue;
      return {};
    }
    const auto at = static_cast<std::uint64_t>(offset);
    if (at < had_) fail_member("has stretches that overlap, at " + from_.place_of(given_));
    hole_ = at - had_;
    return block_ = {static_cast<const std::byte*>(bytes), size};
  }
}

void archive_reader::check_end() {
  switch (kind_) {
    case archive_kind::zip:
      return check_zip_end();
    case archive_kind::cpio:
      return check_cpio_end();
    case archive_kind::seven_zip:
      // libarchive takes some lists that it does not understand for empty ones
      if (!any_entry_ && list_bytes_ > 0) break_off("has a list of members in which none could be found");
      return;
    case archive_kind::tar:
    case archive_kind::none:
      return;
  }
}

// libarchive does not ask for the mark of the end, and not for a member after special headers. Zeros after the mark
// that do not fill a block are a cut header to it.
bool archive_reader::tar_has_ended(int result) {
  if (const auto& fault = tar_.first_fault()) {
    break_off("damaged tar archive: " + fault->cause + ", at " + from_.place_of(fault->at));
  }
  if (result == ARCHIVE_OK || result == ARCHIVE_WARN) return false;
  if (tar_.has_end_mark()) return true;
  if (result != ARCHIVE_EOF && !at_end_) return false;
  break_off(std::string("ends early, ") +
            (tar_.is_within_header() ? "within the header of a member" : "without the mark of a tar archive's end") +
            ", at " + from_.place_of(given_));
}

void archive_reader::check_tar_member(int result) {
  if (!tar_.has_member()) break_off("damaged tar archive: the header of a member is inconsistent: " + words_of_fault());
  const char* const said = ::archive_error_string(archive_.get());
  if (result == ARCHIVE_OK || (said != nullptr && is_harmless(said))) return;
  break_off("damaged tar archive: the header of a member: " + words_of_fault());
}

// Of a sparse file libarchive takes no more than the map lists, and goes on there, within the member.
void archive_reader::check_tar_content() {
  const auto end = static_cast<std::uint64_t>(::archive_filter_bytes(archive_.get(), 0));
  if (end == tar_.content_end()) return;
  break_off("damaged tar archive: a member has content that the map of a sparse file does not list, at " +
            from_.place_of(end));
}

// libarchive searches for the next header where there is none, and does not always say so.
void archive_reader::check_cpio_entry(archive_entry* entry) {
  if (std::exchange(at_cpio_entry_, true) && cpio_.front() != nullptr) cpio_.pop();
  const cpio_headers::entry* const expected = cpio_.front();
  if (expected == nullptr) break_off_cpio();
  if (::archive_entry_size(entry) == static_cast<std::int64_t>(expected->bytes)) return;
  break_off("damaged cpio archive: no header is found where one should be, at " + from_.place_of(expected->header_at));
}

void archive_reader::break_off_cpio() {
  break_off("damaged cpio archive: no header is found where one should be, or a member has a wrong length, at " +
            from_.place_of(cpio_.broken_at().value_or(given_)));
}

// What follows the end of a cpio archive may be another one.
void archive_reader::check_cpio_end() {
  if (at_cpio_entry_ && cpio_.front() != nullptr) cpio_.pop();
  if (cpio_.front() != nullptr || !cpio_.has_ended()) break_off_cpio();
  const auto end = static_cast<std::uint64_t>(::archive_filter_bytes(archive_.get(), 0));
  const void* unused = nullptr;
  while (on_read(archive_.get(), this, &unused) > 0) {
  }
  rethrow_from_below();
  if (nonzero_end_ > end)
    break_off("holds something else after its end, which was not counted, at " + from_.place_of(end));
}

void archive_reader::check_zip_end() {
  try {
    if (const auto size = from_.seekable_bytes()) {
      check_zip_file(from_, walked_);
      from_.seek(*size);
      return;
    }
    const auto consumed = static_cast<std::uint64_t>(::archive_filter_bytes(archive_.get(), 0));
    keep_unconsumed();
    in_buffer_ = 0;
    rest_of_stream rest(unconsumed_, from_);
    check_zip_stream(rest, consumed, walked_);
  } catch (...) {
    ended_ = true;
    broken_ = std::current_exception();
    throw;
  }
}

// magic (6) | version (2) | CRC of what follows | offset of the list, from here on | its size | its CRC. libarchive
// takes some lists that are not as they should be for empty ones.
void archive_reader::check_seven_zip_start() {
  constexpr std::size_t start_bytes = 32;
  constexpr std::size_t covered_at = 12;
  std::array<std::byte, start_bytes> start{};
  std::size_t have = 0;
  from_.seek(0);
  while (have < start.size()) {
    const std::size_t read = from_.read(std::span(start).subspan(have));
    if (read == 0) break;
    have += read;
  }
  from_.seek(0);
  if (detect_archive(start) != archive_kind::seven_zip) return;  // a program that extracts itself
  const auto number = [&start](std::size_t at, std::size_t size) {
    std::uint64_t value = 0;
    for (std::size_t i = size; i-- > 0;) value = value << 8U | std::to_integer<std::uint64_t>(start[at + i]);
    return value;
  };
  const std::uint64_t size = *from_.seekable_bytes();
  if (have < start.size()) break_off("damaged 7z archive: it ends early, at " + from_.place_of(have));
  const auto* const covered = reinterpret_cast<const std::uint8_t*>(&start[covered_at]);
  if (crc32_gzip_refl(0, covered, start_bytes - covered_at) != number(8, 4)) {
    break_off("damaged 7z archive: the checksum of its start header does not match, at " + from_.place_of(8));
  }
  const std::uint64_t rest = size - start_bytes;
  const std::uint64_t list_at = number(covered_at, 8);
  const std::uint64_t list_bytes = number(20, 8);
  if (list_at > rest || list_bytes > rest - list_at) {
    break_off("damaged 7z archive: it ends early, before the end of its list of members, at " + from_.place_of(size));
  }
  if (list_at + list_bytes < rest) {
    break_off("holds something else after its end, which was not counted, at " +
              from_.place_of(start_bytes + list_at + list_bytes));
  }
  list_bytes_ = list_bytes;
  if (list_bytes == 0 && rest > 0)
    break_off("damaged 7z archive: it has bytes and no list of members, at " + from_.place_of(20));
}

std::string archive_reader::words_of_fault() const {
  const char* said = ::archive_error_string(archive_.get());
  const std::string words = said != nullptr ? said : "cannot be read";
  const bool needs_length = kind_ == archive_kind::zip && !from_.seekable_bytes() && !size_is_known_ &&
                            (words.starts_with("Truncated bzip2") || words.starts_with("Truncated lzma"));
  const bool other_method = words.find("codec") != std::string::npos || words.starts_with("Unsupported filter");
  return words + ", at " + place_of_fault() +
         (other_method ? "; a method that gpuhist does not have: try 7z x -so FILE | gpuhist" : "") +
         (needs_length ? "; the archive states the length after the member: give it as a file of its own" : "");
}

// libarchive has read ahead of the headers of a tar.
std::string archive_reader::place_of_fault() const {
  return from_.place_of(in_tar_header_ ? tar_.header_at() : given_);
}

void archive_reader::rethrow_from_below() {
  if (!from_below_) return;
  broken_ = std::exchange(from_below_, nullptr);
  ended_ = true;
  in_entry_ = false;
  std::rethrow_exception(broken_);
}

void archive_reader::break_off(const std::string& message, failure_kind kind) {
  ended_ = true;
  in_entry_ = false;
  broken_ = std::make_exception_ptr(input_error(message, 0, kind));
  std::rethrow_exception(broken_);
}

void archive_reader::fail_member(const std::string& message, failure_kind kind) { throw input_error(message, 0, kind); }

}  // namespace gpuhist::io
