// libarchive behind a narrow door: callbacks that pull, no filters, no files.
#include "io/archive_reader.hpp"

#include "io/input_error.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <clocale>
#include <cstdio>

#include <algorithm>
#include <array>
#include <new>
#include <utility>

namespace gpuhist::io {
namespace {

constexpr std::size_t buffer_bytes = std::size_t{256} << 10U;
constexpr std::uint64_t tar_block = 512;

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

}  // namespace

void archive_reader::closer::operator()(archive* open) const { ::archive_read_free(open); }

archive_reader::archive_reader(archive_kind kind, byte_reader& from)
    : kind_(kind), from_(from), buffer_(buffer_bytes), archive_(::archive_read_new()) {
  if (!archive_) throw std::bad_alloc();
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
  const int result = ::archive_read_open1(archive_.get());
  rethrow_from_below();
  if (result != ARCHIVE_OK) break_off(words_of_fault());
}

std::ptrdiff_t archive_reader::on_read(archive* /*of*/, void* self, const void** out) {
  auto& reader = *static_cast<archive_reader*>(self);
  try {
    const std::size_t size = reader.from_.read(reader.buffer_);
    const auto read = std::span(reader.buffer_).first(size);
    const auto last = std::ranges::find_if(read.rbegin(), read.rend(), [](std::byte b) { return b != std::byte{0}; });
    if (last != read.rend()) {
      reader.nonzero_end_ = reader.given_ + static_cast<std::uint64_t>(read.rend() - last);
    }
    reader.given_ += size;
    *out = reader.buffer_.data();
    return static_cast<std::ptrdiff_t>(size);
  } catch (...) {
    reader.from_below_ = std::current_exception();
    return ARCHIVE_FATAL;
  }
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
  reader.given_ = static_cast<std::uint64_t>(to);
  return to;
}

std::optional<std::string> archive_reader::next() {
  if (broken_) std::rethrow_exception(broken_);
  const utf8_names names;
  if (!std::exchange(opened_, true)) open();
  for (;;) {
    skip_rest();
    archive_entry* entry = nullptr;
    const int result = ::archive_read_next_header(archive_.get(), &entry);
    rethrow_from_below();
    if (result == ARCHIVE_EOF) {
      check_end();
      return std::nullopt;
    }
    if (result != ARCHIVE_OK && result != ARCHIVE_WARN) break_off(words_of_fault());
    if (begins_member(entry)) return path_of(entry);
  }
}

// libarchive would do it by itself, but only before the next header: where a tar's last member ends is to be known.
void archive_reader::skip_rest() {
  if (!std::exchange(in_entry_, false)) return;
  ended_ = true;
  const int result = ::archive_read_data_skip(archive_.get());
  rethrow_from_below();
  if (result == ARCHIVE_FATAL) break_off(words_of_fault());
  entries_end_ = static_cast<std::uint64_t>(::archive_filter_bytes(archive_.get(), 0));
}

// A hard link with bytes of its own is a file (cpio keeps them with the last link).
bool archive_reader::begins_member(archive_entry* entry) {
  in_entry_ = any_entry_ = true;
  const bool is_file = ::archive_entry_filetype(entry) == AE_IFREG || ::archive_entry_filetype(entry) == 0;
  size_is_known_ = ::archive_entry_size_is_set(entry) != 0;
  const std::int64_t size = size_is_known_ ? ::archive_entry_size(entry) : 0;
  if (!is_file || (::archive_entry_hardlink(entry) != nullptr && size <= 0)) return false;
  encrypted_ = ::archive_entry_is_encrypted(entry) != 0;
  sparse_ = ::archive_entry_sparse_count(entry) > 0;
  size_ = size > 0 ? static_cast<std::uint64_t>(size) : 0;
  had_ = hole_ = 0;
  ended_ = false;
  block_ = {};
  fault_.clear();
  return true;
}

std::span<const std::byte> archive_reader::read() {
  if (broken_) std::rethrow_exception(broken_);
  if (ended_) return {};
  if (encrypted_) fail_member("is encrypted, and gpuhist takes no passwords: extract it first", failure_kind::refused);
  for (;;) {
    if (hole_ > 0) return take_hole();
    if (!block_.empty()) {
      had_ += block_.size();
      return std::exchange(block_, {});
    }
    if (!fault_.empty()) fail_member(std::exchange(fault_, {}));
    if (take_block().empty() && hole_ == 0 && fault_.empty()) {
      ended_ = true;
      check_size();
      return {};
    }
  }
}

// libarchive looks at the lower 32 bits of a zip's only.
void archive_reader::check_size() const {
  if (!size_is_known_ || had_ == size_) return;
  fail_member("has " + std::to_string(had_) + " bytes, and the archive says that it has " + std::to_string(size_));
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
      // the hole at the end of a sparse file has no block behind it
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

// A tar that was cut between two members looks whole but for the zeros at its end, libarchive takes some lists of a 7z
// that it does not understand for empty ones, and what follows the end of a cpio archive may be another one.
void archive_reader::check_end() {
  if (kind_ == archive_kind::tar && given_ - entries_end_ < tar_block) {
    break_off("ends early, without the mark of a tar archive's end, at " + from_.place_of(given_));
  }
  if (kind_ == archive_kind::seven_zip && !any_entry_ && has_seven_zip_list()) {
    break_off("has a list of members in which none could be found");
  }
  if (kind_ != archive_kind::cpio) return;
  const auto end = static_cast<std::uint64_t>(::archive_filter_bytes(archive_.get(), 0));
  const void* unused = nullptr;
  while (on_read(archive_.get(), this, &unused) > 0) {
  }
  rethrow_from_below();
  if (nonzero_end_ > end)
    break_off("holds something else behind its end, which was not counted, at " + from_.place_of(end));
}

// The archive's head says how long the list is: nothing in an archive of nothing.
bool archive_reader::has_seven_zip_list() {
  constexpr std::uint64_t at = 20;
  std::array<std::byte, 8> length{};
  from_.seek(at);
  const std::size_t read = from_.read(length);
  return std::ranges::any_of(std::span(length).first(read), [](std::byte b) { return b != std::byte{0}; });
}

std::string archive_reader::words_of_fault() const {
  const char* said = ::archive_error_string(archive_.get());
  const std::string words = said != nullptr ? said : "cannot be read";
  const bool other_method = words.find("codec") != std::string::npos || words.starts_with("Unsupported filter");
  return words + ", at " + from_.place_of(given_) +
         (other_method ? "; a method that gpuhist does not have: try 7z x -so FILE | gpuhist" : "");
}

void archive_reader::rethrow_from_below() {
  if (!from_below_) return;
  broken_ = std::exchange(from_below_, nullptr);
  ended_ = true;
  in_entry_ = false;
  std::rethrow_exception(broken_);
}

void archive_reader::break_off(const std::string& message) {
  ended_ = true;
  in_entry_ = false;
  broken_ = std::make_exception_ptr(input_error(message, 0, failure_kind::damaged));
  std::rethrow_exception(broken_);
}

void archive_reader::fail_member(const std::string& message, failure_kind kind) { throw input_error(message, 0, kind); }

}  // namespace gpuhist::io
