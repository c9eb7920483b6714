// The members of a tar, zip, 7z or cpio archive, one after the other, and their bytes, by libarchive. Nothing is
// extracted: no name is ever opened, and compression around an archive is somebody else's (io/decoder.hpp).
#pragma once

#include "io/archive/archive_format.hpp"
#include "io/archive/cpio_headers.hpp"
#include "io/archive/tar_headers.hpp"
#include "io/archive/zip_directory.hpp"
#include "io/byte_reader.hpp"
#include "io/failure_kind.hpp"

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

/// Entries of an archive that are no files, of one kind.
struct skipped_entries {
  std::string_view kind;    ///< "symbolic link", in the singular
  std::uint64_t count = 0;  ///< how many there were
  std::uint64_t bytes = 0;  ///< that the archive holds for them: targets of links
  std::string first;        ///< path of the first one, as it is stored
};

/// Used by one thread at a time. What fails throws input_error, whose message says where: of a member alone, then the
/// next one can be had; or of the whole archive, then next() throws it again. What the bytes below throw comes through
/// as it is.
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): one an archive; the order is that of the reader
class archive_reader {
 public:
  /// Bytes come from `from`, which outlives the reader. Throws std::bad_alloc, and input_error where the kind needs to
  /// seek and `from` cannot.
  archive_reader(archive_kind kind, byte_reader& from);
  archive_reader(const archive_reader&) = delete;
  archive_reader& operator=(const archive_reader&) = delete;
  ~archive_reader();

  /// Goes on to the next member that is a file with bytes of its own: its path as it is stored, no promise of being
  /// UTF-8, relative or short. Nothing at the archive's end. What is left of the member before is skipped.
  std::optional<std::string> next();

  /// The next bytes of the member, holes of sparse files as zeros; empty at its end, which was reached with all its
  /// checksums (where the archive has any) in order. Valid until the next call of any member.
  std::span<const std::byte> read();

  /// What next() has passed over so far, which is not counted.
  [[nodiscard]] const std::vector<skipped_entries>& skipped() const { return skipped_; }

  /// Whether nothing more can be had of the archive, because it, or what is below it, failed.
  [[nodiscard]] bool is_broken() const { return broken_ != nullptr; }

 private:
  struct closer {
    void operator()(archive* open) const;
    void operator()(archive_entry* entry) const;
  };

  void open();
  static std::ptrdiff_t on_read(archive* /*of*/, void* self, const void** out);
  static std::int64_t on_seek(archive* /*of*/, void* self, std::int64_t offset, int whence);
  void check_header_bytes() const;
  void skip_rest();
  [[nodiscard]] bool begins_member(archive_entry* entry);
  void read_sparse_map(archive_entry* entry);
  [[nodiscard]] bool has_bytes_in_later_link(archive_entry* entry) const;
  [[nodiscard]] bool is_rest_of_file(archive_entry* entry) const;
  [[nodiscard]] bool fails_alone(archive_entry* entry);
  void reset_member(archive_entry* entry);
  void check_name(archive_entry* entry);
  void skip_entry(archive_entry* entry, std::string_view kind, std::uint64_t bytes);
  void keep_unconsumed();
  std::span<const std::byte> take_block();
  std::span<const std::byte> take_hole();
  void end_member();
  void check_end();
  [[nodiscard]] bool tar_has_ended(int result);
  void check_tar_member(int result);
  void check_tar_content();
  void check_cpio_end();
  void check_cpio_entry(archive_entry* entry);
  [[noreturn]] void break_off_cpio();
  void check_zip_end();
  void check_seven_zip_start();
  [[nodiscard]] std::string place_of_fault() const;
  [[nodiscard]] std::string words_of_fault() const;
  void rethrow_from_below();
  [[noreturn]] void break_off(const std::string& message, failure_kind kind = failure_kind::damaged);
  [[noreturn]] static void fail_member(const std::string& message, failure_kind kind = failure_kind::damaged);

  const archive_kind kind_;
  byte_reader& from_;
  std::vector<std::byte> buffer_;
  std::uint64_t given_ = 0;        // bytes handed to libarchive, up to here in the archive
  std::uint64_t nonzero_end_ = 0;  // of a cpio: behind the last of them that is not zero
  std::exception_ptr from_below_;  // what the callbacks caught: nothing may be thrown through C
  std::exception_ptr broken_;
  std::unique_ptr<archive, closer> archive_;
  std::unique_ptr<archive_entry, closer> entry_;  // what the header of each member is read into

  bool opened_ = false;
  bool any_entry_ = false;  // has been seen, of whatever kind
  bool in_entry_ = false;   // some of it may be left to be skipped

  std::vector<skipped_entries> skipped_;

  tar_headers tar_;
  bool in_tar_header_ = false;  // libarchive reads the headers of a member
  bool at_end_ = false;         // of the bytes of a tar

  cpio_headers cpio_;
  bool at_cpio_entry_ = false;    // the front of those
  std::uint64_t list_bytes_ = 0;  // of a 7z archive

  // Of a zip archive:
  std::vector<zip_walked> walked_;
  std::vector<std::byte> unconsumed_;  // of a stream: bytes before those in the buffer that libarchive did not consume
  std::size_t in_buffer_ = 0;

  // Of the member:
  bool ended_ = true;
  std::string refusal_;  // why it is not read at all
  failure_kind refusal_kind_ = failure_kind::damaged;
  bool sparse_ = false;
  std::uint64_t extents_end_ = 0;  // of a sparse file: end of its last extent with data
  bool size_is_known_ = false;
  std::uint64_t size_ = 0;  // as the archive states it
  std::uint64_t had_ = 0;   // bytes given out
  std::uint64_t hole_ = 0;  // zeros before the block
  std::span<const std::byte> block_{};
  std::uint32_t crc_ = 0;  // of the bytes given out (zip)
  std::string fault_;      // to be told once the bytes before it are given out
};

}  // namespace gpuhist::io
