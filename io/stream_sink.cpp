#include "io/stream_sink.hpp"

#include <boost/asio/error.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <system_error>
#include <utility>

namespace gpuhist::io {
namespace asio = boost::asio;

namespace {

bool has_room(int fd) {
  pollfd query{.fd = fd, .events = POLLOUT, .revents = 0};
  return ::poll(&query, 1, 0) > 0;
}

bool is_empty(int pipe) {
  int waiting = 0;
  return ::ioctl(pipe, FIONREAD, &waiting) == 0 && waiting == 0;
}

}  // namespace

stream_sink::stream_sink(async::event_loop& loop, descriptor fd, std::size_t pipe_bytes, events callbacks)
    : loop_(loop),
      fd_(std::move(fd)),
      manner_(choose_manner()),
      room_(loop.context().get_executor(), fd_.get(), EPOLLOUT),
      callbacks_(std::move(callbacks)) {
  if (is_pipe()) enlarge_pipe(writing(), pipe_bytes);
}

stream_sink::manner stream_sink::choose_manner() {
  struct stat status{};
  const int flags = ::fcntl(fd_.get(), F_GETFL);
  if (flags < 0 || ::fstat(fd_.get(), &status) != 0) throw std::system_error(errno, std::system_category());
  if ((flags & O_ACCMODE) == O_RDONLY) throw std::system_error(EBADF, std::system_category());
  if (S_ISSOCK(status.st_mode)) return manner::socket;
  const bool is_fifo = S_ISFIFO(status.st_mode);
  const bool is_terminal = S_ISCHR(status.st_mode) && ::isatty(fd_.get()) == 1;
  // a reopened regular file would have its own offset; some devices cannot be opened twice
  if (!is_fifo && !is_terminal) return S_ISREG(status.st_mode) ? manner::always : manner::polled;
  own_ = reopen_nonblocking(fd_.get(), O_WRONLY);
  if (is_terminal) return own_ ? manner::own_terminal : manner::polled;
  return own_ ? manner::own_pipe : manner::polled_pipe;
}

bool stream_sink::flush() {
  if (!takes_more()) return false;
  if (kept_.empty()) return true;
  kept_written_ += put(std::span<const std::byte>(kept_).subspan(kept_written_));
  if (kept_written_ < kept_.size()) return false;
  kept_.clear();
  kept_written_ = 0;
  return true;
}

void stream_sink::take(std::span<const std::byte> bytes) {
  const std::size_t written = put(bytes);
  kept_.assign(bytes.begin() + static_cast<std::ptrdiff_t>(written), bytes.end());
}

// Returns how many bytes were written.
std::size_t stream_sink::put(std::span<const std::byte> bytes) {
  std::size_t written = 0;
  while (written < bytes.size() && takes_more()) {
    const std::size_t size = put_some(bytes.subspan(written));
    if (size == 0) break;
    written += size;
  }
  return written;
}

// Returns 0 without room, or if no more bytes are taken.
std::size_t stream_sink::put_some(std::span<const std::byte> bytes) {
  // a blocking descriptor takes this many bytes without blocking after poll() reported room
  const bool may_block = manner_ == manner::polled || manner_ == manner::polled_pipe;
  if (may_block && room_.can_wait()) {
    if (!has_room(writing())) return 0;
    bytes = bytes.first(std::min<std::size_t>(bytes.size(), PIPE_BUF));
  }
  for (;;) {
    const ssize_t put = manner_ == manner::socket
                            ? ::send(writing(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL)
                            : ::write(writing(), bytes.data(), bytes.size());
    if (put > 0) {
      note_written(static_cast<std::size_t>(put));
      return static_cast<std::size_t>(put);
    }
    if (put < 0 && errno == EAGAIN) return 0;
    if (put < 0 && errno == EINTR) continue;
    fail(put == 0 ? EIO : errno);  // a write of 0 bytes would repeat forever
    return 0;
  }
}

stream_sink::teed stream_sink::tee_from(int pipe, std::size_t max_bytes) {
  for (;;) {
    const ssize_t size = ::tee(pipe, writing(), max_bytes, SPLICE_F_NONBLOCK);
    if (size > 0) {
      note_written(static_cast<std::size_t>(size));
      return {.status = tee_status::passed_through, .bytes = static_cast<std::size_t>(size)};
    }
    if (size == 0) return {.status = tee_status::source_has_ended};
    if (errno == EAGAIN) return {.status = is_empty(pipe) ? tee_status::source_is_empty : tee_status::no_room};
    if (errno == EPIPE) {
      fail(EPIPE);
      return {.status = tee_status::no_room};
    }
    if (errno != EINTR) return {.status = tee_status::impossible};
  }
}

async::task<bool> stream_sink::writable() {
  if (!takes_more()) co_return false;
  const auto began = std::chrono::steady_clock::now();
  const boost::system::error_code error = co_await room_.wait();
  waited_ += std::chrono::steady_clock::now() - began;
  if (error && error != asio::error::operation_aborted) fail(error.value());
  co_return takes_more();
}

void stream_sink::cancel() noexcept {
  cancelled_ = true;
  room_.interrupt();
}

async::task<> stream_sink::write(std::span<const std::byte> bytes) { co_await async::run_on(loop_, write_here(bytes)); }

async::task<> stream_sink::write_here(std::span<const std::byte> bytes) {
  for (;;) {
    if (flush()) bytes = bytes.subspan(put(bytes));
    if (bytes.empty()) co_return;
    const bool has_room = co_await writable();  // a named variable: GCC 12 miscompiles this within the condition
    if (!has_room) break;
  }
  cut_off_ += bytes.size();
}

void stream_sink::close() {
  if (fault_ || manner_ != manner::always) return;
  const int copy = ::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0);
  if (copy < 0 || (::close(copy) != 0 && errno != EINTR)) fail(errno);
}

bool stream_sink::feeds(int fd) const {
  struct stat in{};
  struct stat out{};
  if (::fstat(fd, &in) != 0 || ::fstat(fd_.get(), &out) != 0 || !S_ISREG(out.st_mode)) return false;
  if (in.st_dev != out.st_dev || in.st_ino != out.st_ino) return false;
  const bool appends = (::fcntl(fd_.get(), F_GETFL) & O_APPEND) != 0;
  const off_t writes_at = appends ? out.st_size : ::lseek(fd_.get(), 0, SEEK_CUR);
  return ::lseek(fd, 0, SEEK_CUR) < writes_at;
}

void stream_sink::note_written(std::size_t bytes) {
  position_ += bytes;
  if (callbacks_.written) callbacks_.written();
}

void stream_sink::fail(int error) {
  if (fault_) return;
  fault_ = {.error = error, .offset = position_};
  room_.interrupt();
  if (callbacks_.failed) callbacks_.failed();
}

}  // namespace gpuhist::io
