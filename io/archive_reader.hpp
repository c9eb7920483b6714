// The members of a tar, zip, 7z or cpio archive, one after the other, and their bytes, by libarchive. Nothing is
// extracted: no name is ever opened, and compression around an archive is somebody else's (io/decoder.hpp).
#pragma once

#include "io/archive_format.hpp"
#include "io/byte_reader.hpp"
#include "io/failure_kind.hpp"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

struct archive;
struct archive_entry;

namespace gpuhist::io {

/// Used by one thread at a time. What fails throws input_error, whose message says where: of a member alone, then the
/// next one can be had; or of the whole archive, then next() throws it again. What the bytes below throw comes through
/// as it is.
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

  /// Whether nothing more can be had of the archive, because it, or what is below it, failed.
  [[nodiscard]] bool is_broken() const { return broken_ != nullptr; }

 private:
  struct closer {
    void operator()(archive* open) const;
  };

  void open();
  static std::ptrdiff_t on_read(archive* /*of*/, void* self, const void** out);
  static std::int64_t on_seek(archive* /*of*/, void* self, std::int64_t offset, int whence);
  void skip_rest();
  [[nodiscard]] bool begins_member(archive_entry* entry);
  std::span<const std::byte> take_block();
  std::span<const std::byte> take_hole();
  void check_size() const;
  void check_end();
  [[nodiscard]] bool has_seven_zip_list();
  [[nodiscard]] std::string words_of_fault() const;
  void rethrow_from_below();
  [[noreturn]] void break_off(const std::string& message);
  [[noreturn]] static void fail_member(const std::string& message, failure_kind kind = failure_kind::damaged);

  const archive_kind kind_;
  byte_reader& from_;
  std::vector<std::byte> buffer_;
  std::uint64_t given_ = 0;        // bytes handed to libarchive, up to here in the archive
  std::uint64_t nonzero_end_ = 0;  // behind the last of them that is not zero
  std::exception_ptr from_below_;  // what the callbacks caught: nothing may be thrown through C
  std::exception_ptr broken_;
  std::unique_ptr<archive, closer> archive_;

  bool opened_ = false;
  bool in_entry_ = false;          // some of it may be left to be skipped
  bool any_entry_ = false;         // has been seen, of whatever kind
  std::uint64_t entries_end_ = 0;  // in the archive, behind the last entry

  // Of the member:
  bool ended_ = true;
  bool encrypted_ = false;
  bool sparse_ = false;
  bool size_is_known_ = false;
  std::uint64_t size_ = 0;  // as the archive states it
  std::uint64_t had_ = 0;   // bytes given out
  std::uint64_t hole_ = 0;  // zeros before the block
  std::span<const std::byte> block_{};
  std::string fault_;  // to be told once the bytes before it are given out
};

}  // namespace gpuhist::io
