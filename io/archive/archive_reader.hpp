// Reads the members of a tar, zip, 7z or cpio archive one after the other, with libarchive. Nothing is extracted: no
// stored name is ever opened. Compression around an archive is removed by a decoder (io/decoder.hpp).
#pragma once

#include "io/archive/archive_format.hpp"
#include "io/archive/cpio_headers.hpp"
#include "io/archive/tar_headers.hpp"
#include "io/archive/zip_stream.hpp"
#include "io/byte_reader.hpp"
#include "io/failure.hpp"
#include "io/notice.hpp"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

struct archive;
struct archive_entry;

namespace gpuhist::io {

/// Skipped entries of one kind: entries of an archive that are not files.
struct skipped_entries {
  skipped_kind type = skipped_kind::special;
  std::string_view kind;    ///< "symbolic link", in the singular
  std::uint64_t count = 0;  ///< number of entries
  std::uint64_t bytes = 0;  ///< bytes that the archive stores for them: targets of links
  std::string first;        ///< stored path of the first entry
};

/// Texts of members of an archive that were decoded ahead of the thread that reads the archive. Used by the thread of
/// one archive_reader.
class decoded_members {
 public:
  struct text {
    std::span<const std::byte> bytes;  ///< not empty
    std::uint32_t crc = 0;             ///< CRC-32 of the bytes
  };

  decoded_members() = default;
  decoded_members(const decoded_members&) = delete;
  decoded_members& operator=(const decoded_members&) = delete;
  virtual ~decoded_members() = default;

  /// The text of the member whose packed bytes begin at this offset of the archive, valid until the next call; for 7z,
  /// the text with this seven_zip_key(). Nothing if it was not decoded ahead, or if there is any doubt about it. May
  /// block. Offsets of calls increase.
  virtual std::optional<text> take(std::uint64_t data_at) = 0;
};

/// Used by one thread at a time. Errors are thrown as input_error; the message names the place. An error of one member
/// leaves the next members readable. After an error of the whole archive, next() throws it again. Exceptions of the
/// input pass through unchanged.
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): one object per archive; ordered by topic
class archive_reader {
 public:
  /// Reads from `input`, which outlives the reader. Throws std::bad_alloc, and input_error if the kind requires seeking
  /// and `input` cannot seek. `ahead`: texts of members of a seekable zip or 7z that were decoded ahead; outlives the
  /// reader.
  archive_reader(archive_kind kind, byte_reader& input, decoded_members* ahead = nullptr);
  archive_reader(const archive_reader&) = delete;
  archive_reader& operator=(const archive_reader&) = delete;
  ~archive_reader();

  /// Advances to the next member that is a file with bytes of its own, and returns its stored path, which need not be
  /// UTF-8, relative or short. Nothing at the end of the archive. Unread bytes of the current member are skipped.
  std::optional<std::string> next();

  /// The next bytes of the member, with holes of sparse files as zeros. Empty at the end of the member, when its length
  /// and its checksums (if the archive has any) were verified. Valid until the next call of any member function.
  std::span<const std::byte> read();

  /// The entries that next() has skipped so far; they are not counted.
  [[nodiscard]] const std::vector<skipped_entries>& skipped() const { return skipped_; }

  /// After the last member: what deserves a remark about an archive that is complete.
  [[nodiscard]] const std::optional<io::notice>& notice() const { return notice_; }

  /// After the last member: the data that follows a cpio archive (the compressed part of an initial RAM disk) or the
  /// headers of an rpm package, itself a cpio archive, and its offset. Null: none.
  [[nodiscard]] byte_reader* following() { return has_following_ ? &*rest_ : nullptr; }
  [[nodiscard]] std::uint64_t following_at() const { return handle_at_; }

  /// Whether each member has a checksum.
  [[nodiscard]] bool has_checksums() const { return kind_ == archive_kind::zip; }

  /// Whether no more members can be read, because the archive or its input failed.
  [[nodiscard]] bool is_broken() const { return broken_ != nullptr; }

  /// Whether the archive ends within the member: read() has failed for that reason, and next() fails for it too.
  [[nodiscard]] bool ends_early() const { return ends_early_; }

 private:
  struct deleter {
    void operator()(archive* open) const;
    void operator()(archive_entry* entry) const;
  };

  void make_handle();
  void open();
  static std::ptrdiff_t on_read(archive* /*handle*/, void* self, const void** out);
  static std::int64_t on_seek(archive* /*handle*/, void* self, std::int64_t offset, int whence);
  [[nodiscard]] std::span<std::byte> room_for_read();
  void check_header_bytes() const;
  void skip_rest();
  [[nodiscard]] bool begins_member(archive_entry* entry);
  [[nodiscard]] bool has_bytes_in_later_link(archive_entry* entry) const;
  [[nodiscard]] bool is_rest_of_file(archive_entry* entry) const;
  [[nodiscard]] bool fails_alone(archive_entry* entry);
  void reset_member(archive_entry* entry);
  void check_name(archive_entry* entry);
  void skip_entry(archive_entry* entry, skipped_kind type, std::string_view kind, std::uint64_t bytes);
  [[nodiscard]] std::uint64_t consumed() const;
  void take_decoded();
  void decode_skipped();
  std::span<const std::byte> take_block();
  std::span<const std::byte> take_hole();
  void end_member();
  void check_end();
  [[nodiscard]] bool tar_has_ended(int result);
  void check_tar_member(int result);
  void check_tar_content();
  [[nodiscard]] bool ends_in_padding() const;
  [[nodiscard]] bool ends_without_mark();
  void check_cpio_end();
  [[nodiscard]] bool begins_again();
  void check_cpio_entry(archive_entry* entry);
  [[noreturn]] void fail_cpio();
  void check_zip_end();
  [[nodiscard]] bool is_ar_index(archive_entry* entry);
  void check_ar_end();
  std::optional<std::string> open_payload();
  [[nodiscard]] std::string error_place() const;
  [[nodiscard]] std::string_view message_of_libarchive() const;
  [[nodiscard]] std::string error_text() const;
  [[nodiscard]] failure_kind error_kind() const;
  [[nodiscard]] bool length_follows() const;
  void rethrow_callback_error();
  [[noreturn]] void fail_archive(const std::string& message, failure_kind kind = failure_kind::damaged,
                                 lack missing = lack::nothing);
  [[noreturn]] void fail_as_libarchive();
  void keep_error();
  [[noreturn]] static void fail_member(const std::string& message, failure_kind kind = failure_kind::damaged);

  const archive_kind kind_;
  byte_reader& input_;
  decoded_members* const ahead_;  // null: none
  std::vector<std::byte> buffer_;
  std::size_t in_buffer_ = 0;          // bytes of the last read
  std::uint64_t position_ = 0;         // offset in the archive of the next byte for libarchive
  std::exception_ptr callback_error_;  // caught by a callback: exceptions must not pass through C
  std::exception_ptr broken_;
  std::unique_ptr<archive, deleter> archive_;
  std::unique_ptr<archive_entry, deleter> entry_;  // receives the header of each member

  bool opened_ = false;
  bool any_entry_ = false;  // an entry of any kind was found
  bool in_entry_ = false;   // the entry may have unread bytes

  std::vector<skipped_entries> skipped_;
  std::optional<io::notice> notice_;

  tar_headers tar_;
  bool in_tar_header_ = false;  // libarchive is reading the headers of a member
  bool input_ended_ = false;    // tar: the input has ended
  bool lacks_padding_ = false;  // the input has ended within the padding of the last member

  // For cpio archives:
  cpio_headers cpio_;
  bool at_cpio_entry_ = false;         // the front of cpio_ is the current entry
  std::uint64_t handle_at_ = 0;        // offset at which the archive of this handle of libarchive begins
  std::optional<rest_of_input> rest_;  // of the input, from there on; none: of the first archive
  bool has_following_ = false;         // what follows the last archive is compressed

  // For ar archives:
  bool is_package_ = false;    // of Debian
  bool has_its_data_ = false;  // the member with the files of the package was found

  // For 7z archives:
  std::uint64_t list_bytes_ = 0;   // size of the list of members
  std::uint64_t texts_ = 0;        // entries with bytes before the current one
  bool has_decoded_text_ = false;  // by libarchive: from then on it decodes all texts, also those that are skipped
  bool has_taken_text_ = false;    // from ahead_

  // For zip archives:
  std::vector<zip_walked> walked_;
  std::optional<zip_stream> zip_stream_;  // of an archive that cannot seek
  std::uint64_t headers_at_ = 0;          // libarchive searches for the next local header from here on

  // For the current member:
  bool ended_ = true;
  bool asked_ahead_ = false;  // for its text
  bool is_decoded_ = false;   // block_ was its whole text, decoded and verified ahead, with the checksum crc_
  std::string refusal_;       // the cause why it is not read; empty: it is read
  failure_kind refusal_kind_ = failure_kind::damaged;
  std::optional<std::uint64_t> sparse_data_end_;  // of a sparse file: end of its last extent with data
  bool size_is_known_ = false;
  std::uint64_t size_ = 0;        // as stated by the archive
  std::uint64_t delivered_ = 0;   // bytes delivered
  std::uint64_t hole_bytes_ = 0;  // zeros before block_
  std::span<const std::byte> block_{};
  std::uint32_t crc_ = 0;  // zip: of the delivered bytes
  bool ends_early_ = false;
  std::string pending_error_;  // reported after the bytes before it are delivered
  failure_kind pending_kind_ = failure_kind::damaged;
};

}  // namespace gpuhist::io
