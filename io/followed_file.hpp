// A file that grows, known by its name: through rotation, truncation and re-creation.
//
//     name ──► | read ................. | new |          the file that has the name now
//              0                     offset
//     earlier: | read .............. | still written to by who has it open |     those that had it before
//
// A file is known by its device and inode, not by its name: one that is renamed is read on to its end.
#pragma once

#include "io/descriptor.hpp"
#include "io/input_error.hpp"

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>

namespace gpuhist::io {

/// What look() found.
enum class name_change {
  none,
  appeared,   ///< the name has a file, as it had not before
  replaced,   ///< the name has another file than before
  vanished,   ///< the name has no file any more; what had it is still read
  truncated,  ///< a file is shorter than what was read of it, or begins anew: read again from its start
};

/// Used by one thread at a time. Never blocks on anything but a disk.
class followed_file {
 public:
  using clock = std::chrono::steady_clock;

  explicit followed_file(std::string path) : path_(std::move(path)) {}

  /// Looks what became of the name, and opens the file that has it. Throws input_error where it cannot be opened, is
  /// no regular file, or cannot be asked for its size.
  name_change look(clock::time_point now = clock::now());

  /// Bytes that are there to be read, as far as one can see. Throws input_error.
  [[nodiscard]] std::uint64_t pending() const;

  /// What is written from now on is not read, to none of the files that have or had the name; they are not looked at
  /// any more. pending() is then what is left of what they hold now. Throws input_error.
  void set_end();

  /// Reads what no earlier call has read, of files that had the name before first. 0: there is nothing now. Throws
  /// input_error with the offset in what was read in all.
  std::size_t read_some(std::span<std::byte> out);

  [[nodiscard]] const std::string& path() const { return path_; }

  /// Bytes read of all files that have had the name.
  [[nodiscard]] std::uint64_t position() const { return position_; }

  /// The descriptor of the file that has the name, -1 where none has: for watching it.
  [[nodiscard]] int current() const { return current_ ? current_->fd.get() : -1; }

 private:
  static constexpr std::size_t remembered_bytes = 64;

  // One file that has, or had, the name.
  struct generation {
    descriptor fd;
    dev_t device = 0;
    ino_t inode = 0;
    std::uint64_t offset = 0;            // read up to here
    std::optional<std::uint64_t> end{};  // read no further
    // The last bytes before the offset: where they are others, the file was written anew.
    std::array<std::byte, remembered_bytes> last{};
    std::size_t last_size = 0;
    clock::time_point grown{};  // when it was last seen to grow
  };

  name_change look_at_name(clock::time_point now);
  bool begin_truncated_again();
  std::optional<generation> open_named(clock::time_point now) const;
  std::size_t read_of(generation& from, std::span<std::byte> out);
  [[nodiscard]] bool begins_anew(const generation& it) const;
  [[nodiscard]] std::uint64_t size_of(const generation& it) const;
  [[nodiscard]] std::uint64_t left_of(const generation& it) const;
  static void begin_again(generation& it);
  static void remember(generation& of, std::span<const std::byte> read);
  void retire(clock::time_point now);
  void forget_old(clock::time_point now);

  std::string path_;
  std::optional<generation> current_;
  std::deque<generation> earlier_;  // that had the name, the oldest first; few
  std::uint64_t position_ = 0;
};

}  // namespace gpuhist::io
