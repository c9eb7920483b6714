// Writes a passed-through stream to standard output in order and without waiting: the thread that reads input and
// handles signals is never blocked by a consumer that stalls. Flags of the inherited descriptor are not changed: a pipe
// or terminal is reopened through /proc/self/fd, a socket is written with MSG_DONTWAIT, all others only after poll().
#pragma once

#include "async/event_loop.hpp"
#include "async/task.hpp"
#include "io/descriptor.hpp"
#include "io/failure.hpp"
#include "io/readiness.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace gpuhist::io {

/// For the thread of its loop, except where a function states otherwise. Nothing throws after construction: an error is
/// kept, and no more bytes are taken.
class stream_sink {
 public:
  /// The result of tee_from.
  enum class tee_status { passed_through, source_is_empty, source_has_ended, no_room, impossible };

  struct teed {
    tee_status status = tee_status::impossible;
    std::size_t bytes = 0;
  };

  struct events {
    std::function<void()> written{};  ///< after each write of at least one byte
    std::function<void()> failed{};   ///< once, after a failed write
  };

  /// Enlarges a pipe to `pipe_bytes` (best effort). Throws std::system_error if `fd` cannot be written or waited for.
  stream_sink(async::event_loop& loop, descriptor fd, std::size_t pipe_bytes, events callbacks);

  /// Writes the buffered bytes. True: none remain, and more bytes may be given.
  bool flush();

  /// Allocates the buffer that take() needs for so many bytes. Throws std::bad_alloc.
  void reserve(std::size_t bytes) { kept_.reserve(bytes); }

  /// Writes the bytes, and buffers those without room. Precondition: flush() returned true. Memory: at most the bytes
  /// of one such call.
  void take(std::span<const std::byte> bytes);

  /// Copies up to `max_bytes` bytes of a pipe into this pipe and leaves them in the source (tee). Only from pipe to
  /// pipe; precondition: flush() returned true.
  teed tee_from(int pipe, std::size_t max_bytes);

  /// Whether tee_from is possible at all.
  [[nodiscard]] bool is_pipe() const { return manner_ == manner::own_pipe || manner_ == manner::polled_pipe; }

  /// Completes when there may be room, or after interrupt(). False: no more bytes will be taken.
  async::task<bool> writable();

  /// Ends a writable() in progress.
  void interrupt() noexcept { room_.interrupt(); }

  /// Ends a writable() and a write() in progress, and all later ones.
  void cancel() noexcept;

  /// Writes all bytes; completes when they are written, or cannot be written any more. On any executor; one call at a
  /// time, and not together with take() and tee_from().
  async::task<> write(std::span<const std::byte> bytes);

  /// Finds errors that only closing a file reports (a full disk of a network filesystem). To be called when everything
  /// is written.
  void close();

  /// Whether reading from `fd` now would read bytes that were written here: both are the same regular file, and the
  /// write offset is ahead.
  [[nodiscard]] bool feeds(int fd) const;

  [[nodiscard]] const std::optional<sink_fault>& fault() const { return fault_; }

  /// How long writable() and write() waited for room.
  [[nodiscard]] std::chrono::duration<double> waited() const { return waited_; }

  /// Bytes written so far.
  [[nodiscard]] std::uint64_t position() const { return position_; }

  /// Bytes that were given and not written: buffered bytes, and those that a cancel() or an error cut off.
  [[nodiscard]] std::uint64_t unwritten_bytes() const { return cut_off_ + kept_.size() - kept_written_; }

 private:
  enum class manner { own_pipe, polled_pipe, own_terminal, socket, polled, always };

  manner choose_manner();
  [[nodiscard]] int writing() const { return own_ ? own_.get() : fd_.get(); }
  [[nodiscard]] bool takes_more() const { return !cancelled_ && !fault_; }
  std::size_t put(std::span<const std::byte> bytes);
  std::size_t put_some(std::span<const std::byte> bytes);
  async::task<> write_here(std::span<const std::byte> bytes);
  void note_written(std::size_t bytes);
  void fail(int error);

  async::event_loop& loop_;
  descriptor fd_;   // as it was passed in
  descriptor own_;  // a reopened pipe or terminal; used for writing
  manner manner_;
  readiness room_;
  events callbacks_;
  std::vector<std::byte> kept_;
  std::size_t kept_written_ = 0;  // bytes of kept_
  std::uint64_t position_ = 0;
  std::uint64_t cut_off_ = 0;
  std::chrono::steady_clock::duration waited_{};
  std::optional<sink_fault> fault_;
  bool cancelled_ = false;
};

}  // namespace gpuhist::io
