// Sources of bytes: files, read at any offset from any thread, and streams (pipes, terminals, sockets, devices), read
// in order. Opening decides between the two. A source owns neither a thread nor a buffer.
#pragma once

#include "async/task.hpp"
#include "io/descriptor.hpp"
#include "io/failure.hpp"
#include "io/readiness.hpp"
#include "io/stream_sink.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace gpuhist::io {

/// The bytes of a file that are read.
struct file_range {
  std::uint64_t begin = 0;
  std::optional<std::uint64_t> end{};  ///< nothing: the end of the file, also if the file grows
};

/// Bytes that are not in a file of the system, such as an object on a server.
class remote_bytes {
 public:
  virtual ~remote_bytes() = default;

  /// As file_source::read_at(). Thread-safe.
  virtual std::size_t read_at(std::span<std::byte> out, std::uint64_t offset) const = 0;
};

/// A regular file or block device, read with pread, or remote bytes, which are read in the same way. It is never
/// mapped, and its reported size is not trusted.
class file_source {
 public:
  /// `start`: the offset where reading begins: 0, or the current offset of a redirected standard input.
  file_source(descriptor fd, std::uint64_t start, std::uint64_t size_hint);

  /// Reads `remote`, which has `size` bytes.
  file_source(std::shared_ptr<const remote_bytes> remote, std::uint64_t size);

  /// Fills `out` from `offset` (counted from `start`) until it is full or the file ends; returns the bytes read, fewer
  /// than out.size() only at the end of the file. Thread-safe. Throws input_error with the offset of the error, also if
  /// the file has become shorter since it was opened.
  std::size_t read_at(std::span<std::byte> out, std::uint64_t offset) const;

  /// The bytes between `start` and the end, according to fstat: a hint for planning reads, wrong for growing files and
  /// /proc.
  [[nodiscard]] std::uint64_t size_hint() const { return size_hint_; }

  /// Sets the shared offset of a redirected standard input after the last byte read, as other readers do. Has no effect
  /// on files opened by name.
  void leave_offset_at(std::uint64_t offset) const noexcept;

  /// -1 for remote bytes.
  [[nodiscard]] int native_handle() const { return fd_.get(); }

  [[nodiscard]] bool is_remote() const { return remote_ != nullptr; }

  /// Gives up the descriptor, to be read as a stream; its offset is where reading begins.
  [[nodiscard]] descriptor release() && { return std::move(fd_); }

 private:
  void check_end(std::uint64_t end) const;

  descriptor fd_;
  std::uint64_t start_;
  std::uint64_t size_hint_;
  std::shared_ptr<const remote_bytes> remote_{};  // null: a file
};

/// A pipe, terminal, socket or character device. Used on one thread, that of its executor. The flags of the inherited
/// descriptor are never changed: pipes are reopened through /proc/self/fd (a separate non-blocking description),
/// sockets are read with MSG_DONTWAIT, all others only after poll() reported data. A regular file can be read as a
/// stream; it is always ready.
class stream_source {
 public:
  /// Enlarges a pipe to `pipe_bytes` (F_SETPIPE_SZ; best effort). Throws input_error.
  stream_source(const boost::asio::any_io_executor& executor, descriptor fd, std::size_t pipe_bytes);
  stream_source(stream_source&&) noexcept;
  stream_source& operator=(stream_source&&) = delete;
  ~stream_source();

  /// Completes when read_some has a result (bytes, the end, or an error). Completes at once for descriptors that cannot
  /// be waited for (/dev/null, /dev/zero). Returns false if cancel() was called.
  async::task<bool> readable();

  /// Reads the available bytes, at most out.size(), without waiting where the system allows that. Nothing: no bytes are
  /// available (call readable() again). 0: the end; all later calls return 0, although a terminal reports it only once.
  /// Throws input_error with the offset of the error.
  std::optional<std::size_t> read_some(std::span<std::byte> out);

  /// Every byte read after this call is also passed through to `sink`, in the same order, before read_some returns it:
  /// by tee from pipe to pipe, without a copy; otherwise by write. Without room in `sink` nothing is read: readable()
  /// also waits for room. `sink` outlives this.
  void pass_through_to(stream_sink& sink);

  /// Whether bytes are passed through from pipe to pipe, without a copy.
  [[nodiscard]] bool tees() const { return tees_; }

  /// Ends a readable() in progress, and every later one. On the executor's thread.
  void cancel() noexcept;

  /// `check` is called with the position at the end of the stream. It throws input_error if bytes are missing.
  void check_end_with(std::function<void(std::uint64_t)> check) { end_check_ = std::move(check); }

  /// Undoes a cancel().
  void resume() noexcept { cancelled_ = false; }

  /// "pipe", "socket", "terminal" or "device".
  [[nodiscard]] std::string_view kind() const;

  /// The capacity of a pipe in bytes; 0 for everything else.
  [[nodiscard]] std::size_t pipe_capacity() const;

  /// Bytes read so far.
  [[nodiscard]] std::uint64_t position() const { return position_; }

 private:
  enum class manner { own_nonblocking, socket, polled, unpollable };

  manner choose_manner();
  [[nodiscard]] int reading() const { return own_ ? own_.get() : fd_.get(); }
  std::optional<std::size_t> read_now(std::span<std::byte> out);
  std::optional<std::size_t> read_and_pass_through(std::span<std::byte> out);

  descriptor fd_;   // as it was passed in; used for waiting
  descriptor own_;  // a reopened pipe; used for reading
  manner manner_ = manner::polled;
  bool wait_first_ = false;  // a named FIFO: before the first writer opens it, a read would return the end
  bool cancelled_ = false;
  bool ended_ = false;
  std::uint64_t position_ = 0;
  std::unique_ptr<readiness> waiter_;  // for fd_
  stream_sink* pass_through_sink_ = nullptr;
  std::function<void(std::uint64_t)> end_check_{};  // empty: none
  bool tees_ = false;
  bool waits_for_room_ = false;             // in the sink
  std::uint64_t passed_through_ahead_ = 0;  // bytes that were passed through and are not read yet
};

/// The error of a file with fewer bytes than before. `end`: where reading found its end.
[[nodiscard]] input_error truncated_file(std::uint64_t had, std::uint64_t has, std::uint64_t end);

using source = std::variant<file_source, stream_source>;

/// Opens a path of any length that was a regular file a moment ago. Never waits, and opens nothing else. Throws
/// input_error (offset 0), even if the path is not a regular file any more, or is a symbolic link while `follow_links`
/// is false.
file_source open_regular(const std::string& path, bool follow_links);

/// Opens a file by path, or standard input for "-". A path that names a pipe or socket that this process already has
/// open (/dev/stdin, /dev/fd/63) borrows that descriptor, as "-" does. Regular files and block devices become a
/// file_source, everything else a stream_source on `executor`. Never blocks on a FIFO without a writer. Throws
/// input_error (offset 0) with the message of the system: no such file, a directory, no permission, ...
source open_source(const std::string& path, const boost::asio::any_io_executor& executor, std::size_t pipe_bytes);

}  // namespace gpuhist::io
