// A growing file, followed by its name through rotation, truncation and re-creation.
//
//     name ──► | read ................. | new |          the current file of the name
//              0                     offset
//     earlier: | read .............. | still written by a process that has it open |     earlier files of the name
//
// A file is identified by its device and inode, not by its name: a renamed file is still read to its end.
#pragma once

#include "io/descriptor.hpp"
#include "io/failure.hpp"

#include <sys/stat.h>
#include <sys/types.h>

#include <array>
#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace gpuhist::io {

/// The result of look().
enum class name_change {
  none,
  appeared,   ///< the name has a file; it had none before
  replaced,   ///< the name has a different file
  vanished,   ///< the name has no file; the earlier file is still read
  truncated,  ///< a file is shorter than the bytes read of it, or was rewritten: it is read again from its start
};

/// A file, whatever its name is.
struct file_key {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t born = 0;  ///< nanoseconds since 1970: an inode is used again; 0: the file system does not state it

  auto operator<=>(const file_key&) const = default;
};

/// Nothing: there is no regular file of this name.
std::optional<file_key> key_of(const std::string& path);

/// Whether a file has text that was read of another one.
enum class copied_text {
  none,
  perhaps,  ///< as far as it is written: all of it was read of the other one
  all,      ///< it has all text that was read
};

/// Used by one thread at a time. Blocks only on disks.
class followed_file {
 public:
  using clock = std::chrono::steady_clock;

  /// Whether a file that gets the name is left out, as if the name had no file: its text is read under another name.
  using is_left_out = std::function<bool(const std::string& path, const file_key& key)>;

  explicit followed_file(std::string path, is_left_out leaves_out = {})
      : path_(std::move(path)), leaves_out_(std::move(leaves_out)) {}

  /// Checks the name, and opens the file that has it. Throws input_error if the file cannot be opened, is not a regular
  /// file, or its size cannot be queried.
  name_change look(clock::time_point now = clock::now());

  /// The number of unread bytes, according to the current file sizes. Throws input_error.
  [[nodiscard]] std::uint64_t pending() const;

  /// Bytes written after this call are not read, neither from the current file nor from earlier ones, and the files are
  /// not checked again. pending() is then the number of unread bytes that they hold at this moment. Throws input_error.
  void set_end();

  /// Reads unread bytes; earlier files of the name come first. Returns 0 if there are none at this moment. Throws
  /// input_error with the offset in all bytes read so far.
  std::size_t read_some(std::span<std::byte> out);

  [[nodiscard]] const std::string& path() const { return path_; }

  /// Bytes read from all files that have had the name.
  [[nodiscard]] std::uint64_t position() const { return position_; }

  /// Changes if the last bytes that were read do not continue those before: they are of another file, or of one that is
  /// read again from its start.
  [[nodiscard]] std::uint64_t source() const { return source_; }

  /// The descriptor of the current file, for watching it; -1 if there is none.
  [[nodiscard]] int current() const { return current_ ? current_->fd.get() : -1; }

  /// The current file; nothing: there is none.
  [[nodiscard]] std::optional<file_key> current_key() const;

  /// Whether the name has no file, and earlier files of it are not read any more.
  [[nodiscard]] bool has_disappeared() const { return !current_ && earlier_.empty(); }

  /// Whether another file is a copy of one that has or had the name, such as copytruncate of logrotate makes.
  [[nodiscard]] copied_text copy_in(const std::string& path) const;

 private:
  static constexpr std::size_t remembered_bytes = 64;
  static constexpr std::size_t remembered_head = 4096;
  static constexpr std::size_t max_restarted = 4;

  // The text that was read of a file, to know a copy of it.
  struct read_text {
    std::uint64_t bytes = 0;
    std::string head{};  // its first bytes
    std::array<std::byte, remembered_bytes> last{};
    std::size_t last_size = 0;
  };

  // A file that has or had the name.
  struct generation {
    descriptor fd;
    dev_t device = 0;
    ino_t inode = 0;
    std::uint64_t source = 0;
    std::uint64_t offset = 0;            // bytes before it were read
    std::optional<std::uint64_t> end{};  // bytes after it are not read
    // The last bytes before the offset. If the file holds different ones, it was rewritten.
    std::array<std::byte, remembered_bytes> last{};
    std::size_t last_size = 0;
    std::string head{};         // the first bytes
    clock::time_point grown{};  // when growth was last observed
  };

  name_change look_at_name(clock::time_point now);
  bool restart_truncated_files();
  std::optional<generation> take_earlier(const struct stat& named);
  std::optional<generation> open_named(clock::time_point now) const;
  std::size_t read_file(generation& file, std::span<std::byte> out);
  [[nodiscard]] bool is_rewritten(const generation& file) const;
  [[nodiscard]] std::uint64_t size_of(const generation& file) const;
  [[nodiscard]] std::uint64_t remaining_of(const generation& file) const;
  void restart(generation& file);
  [[nodiscard]] static read_text text_of(const generation& file);
  [[nodiscard]] static copied_text compare(const descriptor& copy, const read_text& with);
  static void remember(generation& file, std::span<const std::byte> read);
  void retire(clock::time_point now);
  void forget_old(clock::time_point now);

  std::string path_;
  is_left_out leaves_out_;
  std::optional<generation> current_;
  std::deque<generation> earlier_;   // files that had the name, the oldest first; few
  std::deque<read_text> restarted_;  // text of files before they were truncated, the oldest first; few
  std::uint64_t position_ = 0;
  std::uint64_t source_ = 0;
  mutable std::uint64_t sources_ = 0;  // that were opened, or started again
};

}  // namespace gpuhist::io
