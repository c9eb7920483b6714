// Why an input cannot be read, an output not be written, or an entry of an archive is no input: kinds for programs, and
// exceptions with a text for users.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace gpuhist::io {

enum class failure_kind : std::uint8_t {
  none,
  not_read,       ///< the run ended before this input was started
  stopped,        ///< the run ended while this input was being read
  unreadable,     ///< the system refuses to open or read it
  damaged,        ///< its content contradicts its format, its name or a checksum
  refused,        ///< the program does not count it: an unknown format, a limit, a rule
  out_of_memory,  ///< memory, file descriptors or threads could not be allocated
  not_counted,    ///< it was read, but the count engine failed
  unknown         ///< a result that was read from a file does not state it
};

/// What failed.
enum class failure_origin : std::uint8_t {
  input,              ///< the input itself
  archive,            ///< the archive or frame around this member, whose failure ended the reading of the member
  archive_after_end,  ///< the archive or frame around this member, which was read to its end
};

/// What an input lacks. The end may be in another file: the next volume of an archive.
enum class lack : std::uint8_t { nothing, end };

/// "not_read", ...: the name in reports; empty for `none`.
std::string_view name_of(failure_kind kind);

/// The kind with this name; nothing if there is none.
std::optional<failure_kind> failure_kind_named(std::string_view name);

/// The kind of an input that cannot be opened or read with this errno: out_of_memory if the process or the system has
/// no memory or descriptors left, else unreadable.
failure_kind kind_of_errno(int error);

/// Whether the run ended before the input did, without an error of the input.
constexpr bool is_cut_short(failure_kind kind) {
  return kind == failure_kind::not_read || kind == failure_kind::stopped;
}

// An error of an input: a sentence for users, the offset in the input (in the compressed input if it is compressed),
// and the kind.

/// Thrown by sources and formats. The message does not name the input: the code that catches it knows the name.
class input_error : public std::runtime_error {
 public:
  input_error(const std::string& message, std::uint64_t offset, failure_kind kind = failure_kind::unreadable,
              failure_origin origin = failure_origin::input, lack missing = lack::nothing)
      : std::runtime_error(message), offset_(offset), kind_(kind), origin_(origin), missing_(missing) {}

  [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; }
  [[nodiscard]] failure_kind kind() const noexcept { return kind_; }
  [[nodiscard]] failure_origin origin() const noexcept { return origin_; }
  [[nodiscard]] lack missing() const noexcept { return missing_; }

 private:
  std::uint64_t offset_;
  failure_kind kind_;
  failure_origin origin_;
  lack missing_;
};

// An output that cannot be written.

/// A write that failed: names the destination and the cause. `code()` is EPIPE if the consumer has closed the stream,
/// and std::errc::no_lock_available if a stop signal ended the wait for a file that another process has locked.
struct destination_error : std::system_error {
  using std::system_error::system_error;

  bool is_reported = false;  ///< a message was printed when the error occurred
};

// Why writing to a stream ended early.

/// A write that failed.
struct sink_fault {
  int error = 0;             ///< errno; EPIPE: the consumer has closed the stream
  std::uint64_t offset = 0;  ///< bytes written before
};

// The kinds of names in trees and archives that are not inputs. The program decides by the kind; the words for it are
// for users only.

enum class skipped_kind : std::uint8_t {
  link,       ///< a symbolic link, or a hard link in an archive
  special,    ///< a FIFO, a socket, a device: neither a file nor a directory
  output,     ///< a file that the run writes
  directory,  ///< in an archive: the files below it are members of their own
  unknown     ///< a result that was read from a file does not state it
};

// Sizes, for messages about inputs.

/// The exact size, in the largest unit that divides it.
std::string size_text(std::uint64_t bytes);

/// "1 byte", "2345 bytes".
std::string bytes_text(std::uint64_t bytes);

}  // namespace gpuhist::io
