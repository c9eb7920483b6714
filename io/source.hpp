// Where bytes come from: files read at any offset from any thread, and streams (pipes, terminals, sockets, devices)
// read in order. Opening decides which of the two a name is. No source owns a thread or a buffer.
#pragma once

#include "async/task.hpp"
#include "io/descriptor.hpp"
#include "io/input_error.hpp"
#include "io/readiness.hpp"
#include "io/stream_sink.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace gpuhist::io {

/// A regular file (or a block device), read with pread: never mapped, its size never trusted.
class file_source {
 public:
  /// `start` is where reading begins: 0, or the current offset of a redirected standard input.
  file_source(descriptor fd, std::uint64_t start, std::uint64_t size_hint);

  /// Fills `out` from `offset` (counted from `start`) until it is full or the file ends; returns the bytes read, fewer
  /// than out.size() only at the end of the file. Thread-safe. Throws input_error with the offset of the fault.
  std::size_t read_at(std::span<std::byte> out, std::uint64_t offset) const;

  /// What fstat said lies between `start` and the end: a hint for laying out reads, wrong for growing files and /proc.
  [[nodiscard]] std::uint64_t size_hint() const { return size_hint_; }

  /// Leaves the shared offset of a redirected standard input after the last byte read, as every reader does.
  /// Does nothing for files opened by name.
  void leave_offset_at(std::uint64_t offset) const noexcept;

  [[nodiscard]] int native_handle() const { return fd_.get(); }

  /// The descriptor, whose offset is where reading begins: to be read as a stream.
  [[nodiscard]] descriptor release() && { return std::move(fd_); }

 private:
  descriptor fd_;
  std::uint64_t start_;
  std::uint64_t size_hint_;
};

/// A pipe, terminal, socket or character device. Used on one thread, that of its executor. The flags of the inherited
/// descriptor are never touched: pipes are reopened through /proc/self/fd (a description of our own, non-blocking),
/// sockets are read with MSG_DONTWAIT, the rest only after poll() said that it will not wait. A regular file may be
/// read as a stream, too: it is always ready.
class stream_source {
 public:
  /// Enlarges a pipe to `pipe_bytes` (F_SETPIPE_SZ; best effort). Throws input_error.
  stream_source(const boost::asio::any_io_executor& executor, descriptor fd, std::size_t pipe_bytes);
  stream_source(stream_source&&) noexcept;
  stream_source& operator=(stream_source&&) = delete;
  ~stream_source();

  /// Completes when read_some has something to give (bytes, the end, or an error). Completes at once for descriptors
  /// that cannot be waited for (/dev/null, /dev/zero). Returns false if cancel() was called.
  async::task<bool> readable();

  /// Reads what is there, at most out.size(), without waiting where that can be had: nothing where nothing is there
  /// (call readable() again), 0 at the end, and for good: a terminal says it only once. Throws input_error with the
  /// offset of the fault.
  std::optional<std::size_t> read_some(std::span<std::byte> out);

  /// All that is read from now on is handed on as well, in the same order, before read_some returns it: from pipe to
  /// pipe without a copy (tee), else written. Where there is no room for it nothing is read: readable() waits for the
  /// room, too. `to` outlives this.
  void pass_through_to(stream_sink& to);

  /// Whether bytes are handed on from pipe to pipe, without a copy.
  [[nodiscard]] bool tees() const { return tees_; }

  /// Ends a readable() in progress, and every later one. On the executor's thread.
  void cancel() noexcept;

  /// Takes a cancel() back.
  void resume() noexcept { cancelled_ = false; }

  /// "pipe", "socket", "terminal" or "device".
  [[nodiscard]] std::string_view kind() const;

  /// Bytes that a pipe holds; 0 for everything else.
  [[nodiscard]] std::size_t pipe_capacity() const;

  /// Bytes read so far.
  [[nodiscard]] std::uint64_t position() const { return position_; }

 private:
  enum class manner { own_nonblocking, socket, polled, unpollable };

  manner choose_manner();
  [[nodiscard]] int reading() const { return own_ ? own_.get() : fd_.get(); }
  std::optional<std::size_t> read_now(std::span<std::byte> out);
  std::optional<std::size_t> read_and_pass_through(std::span<std::byte> out);

  descriptor fd_;   // as it was handed in; what is waited for
  descriptor own_;  // a pipe reopened: what is read instead
  manner manner_ = manner::polled;
  bool wait_first_ = false;  // a named FIFO: before its first writer came, a read would look like the end
  bool cancelled_ = false;
  bool ended_ = false;
  std::uint64_t position_ = 0;
  std::unique_ptr<readiness> waiter_;  // for fd_
  stream_sink* pass_through_sink_ = nullptr;
  bool tees_ = false;
  bool waits_for_room_ = false;             // there
  std::uint64_t passed_through_ahead_ = 0;  // bytes that were handed on and are not read yet
};

using source = std::variant<file_source, stream_source>;

/// Opens what was a regular file a moment ago, by a path of any length: never waits, and touches nothing else. Throws
/// input_error (offset 0), also where it is none any more, or a symbolic link while `follow_links` is false.
file_source open_regular(const std::string& path, bool follow_links);

/// Opens a file by path, or standard input for "-". A path that names a pipe or socket this process already has open
/// (/dev/stdin, /dev/fd/63) borrows that descriptor as "-" does. Regular files and block devices become a file_source,
/// all else a stream_source on `executor`. Never blocks on a FIFO without a writer. Throws input_error (offset 0): no
/// such file, a directory, no permission, ... in the system's words.
source open_source(const std::string& path, const boost::asio::any_io_executor& executor, std::size_t pipe_bytes);

}  // namespace gpuhist::io
