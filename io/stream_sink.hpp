// Where a stream goes on: standard output, written in order and without waiting, so that the one thread that reads and
// takes signals is never held up by a consumer that stalls. Flags of the inherited descriptor stay as they are: a pipe
// or terminal is reopened through /proc/self/fd, a socket written with MSG_DONTWAIT, the rest only after poll().
#pragma once

#include "async/event_loop.hpp"
#include "async/task.hpp"
#include "io/descriptor.hpp"
#include "io/readiness.hpp"
#include "io/sink_fault.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace gpuhist::io {

/// For the thread of its loop, except where it says otherwise. Nothing throws after construction: what fails is
/// kept, and from then on nothing is taken any more.
class stream_sink {
 public:
  /// What tee_from did.
  enum class tee_answer { pass_through_mode, source_is_empty, source_has_ended, no_room, impossible };

  struct teed {
    tee_answer what = tee_answer::impossible;
    std::size_t bytes = 0;
  };

  struct events {
    std::function<void()> written{};  ///< after each write of something
    std::function<void()> failed{};   ///< once, when a write has failed
  };

  /// Enlarges a pipe to `pipe_bytes` (best effort). Throws std::system_error where `fd` cannot be written or waited
  /// for.
  stream_sink(async::event_loop& loop, descriptor fd, std::size_t pipe_bytes, events tell);

  /// Writes what is kept. True: nothing is kept any more, and more may be given.
  bool flush();

  /// Memory for what take() may have to keep of so many bytes: it needs no more then. Throws std::bad_alloc.
  void reserve(std::size_t bytes) { kept_.reserve(bytes); }

  /// Writes the bytes; what there is no room for is kept. Precondition: flush() said true. Memory: at most the bytes of
  /// one such call.
  void take(std::span<const std::byte> bytes);

  /// Hands up to `most` bytes of a pipe on without copying and without taking them out of it (tee). Only from pipe to
  /// pipe; flush() said true before.
  teed tee_from(int pipe, std::size_t most);

  /// Whether tee_from may work at all.
  [[nodiscard]] bool is_pipe() const { return manner_ == manner::own_pipe || manner_ == manner::polled_pipe; }

  /// Completes when there may be room, or after interrupt(). False: no more is taken, for good.
  async::task<bool> writable();

  /// Ends a writable() in progress.
  void interrupt() noexcept { room_.interrupt(); }

  /// Ends a writable() and a write() in progress, and every later one.
  void cancel() noexcept;

  /// All of the bytes; completes when they are written, or never will be. On any executor; one call at a time, and none
  /// beside take() and tee_from().
  async::task<> write(std::span<const std::byte> bytes);

  /// What only closing a file tells (a network filesystem's full disk). To be called when all is written.
  void close();

  /// Whether reading from `fd` here and now would read what was written to this: both are one regular file, and the
  /// writing is ahead.
  [[nodiscard]] bool feeds(int fd) const;

  [[nodiscard]] const std::optional<sink_fault>& fault() const { return fault_; }

  /// How long writable() and write() have waited for room.
  [[nodiscard]] std::chrono::duration<double> waited() const { return waited_; }

  /// Bytes written so far.
  [[nodiscard]] std::uint64_t position() const { return position_; }

  /// Bytes that were given and not written: those that are kept, and those that a cancel() or a fault cut off.
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
  descriptor fd_;   // as it was handed in
  descriptor own_;  // a pipe or terminal reopened: what is written instead
  manner manner_;
  readiness room_;
  events tell_;
  std::vector<std::byte> kept_;
  std::size_t kept_written_ = 0;  // of those
  std::uint64_t position_ = 0;
  std::uint64_t cut_off_ = 0;
  std::chrono::steady_clock::duration waited_{};
  std::optional<sink_fault> fault_;
  bool cancelled_ = false;
};

}  // namespace gpuhist::io
