// Pipes, sockets, terminals and other devices: read in order, without waiting and without touching a flag that another
// process shares.
#include "io/source.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <tuple>
#include <utility>

namespace gpuhist::io {
namespace {

[[noreturn]] void throw_errno(const std::string& what, std::uint64_t offset) {
  throw input_error(what + ": " + std::system_category().message(errno), offset);
}

/// The largest size up to `wanted` that the system allows; a pipe that is larger already stays as it is.
void enlarge_pipe(int fd, std::size_t wanted) noexcept {
  const int current = ::fcntl(fd, F_GETPIPE_SZ);
  if (current <= 0) return;
  for (int size = static_cast<int>(std::min(wanted, std::size_t{1} << 30U)); size > current; size /= 2) {
    if (::fcntl(fd, F_SETPIPE_SZ, size) >= 0) return;
  }
}

/// A description of our own of the same pipe, or none where that is not allowed (another user's pipe, no /proc).
descriptor reopen(int fd) {
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  return descriptor(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
}

/// Datagrams have no order and would be cut off silently by a short buffer.
void require_byte_stream(int fd) {
  int type = 0;
  socklen_t length = sizeof(type);
  if (::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) != 0) throw_errno("cannot be read", 0);
  if (type != SOCK_STREAM) throw input_error("is a socket of messages, not a stream of bytes", 0);
}

/// An epoll set that is readable while `fd` is; none where epoll refuses `fd` because it is always ready. What Asio
/// does to the set's own flags reaches nobody. Level-triggered, so that a partial read leaves the set readable.
descriptor epoll_set_of(int fd) {
  descriptor set(::epoll_create1(EPOLL_CLOEXEC));
  if (!set) throw_errno("cannot be waited for", 0);
  epoll_event event{};
  event.events = EPOLLIN;
  if (::epoll_ctl(set.get(), EPOLL_CTL_ADD, fd, &event) == 0) return set;
  if (errno == EPERM) return {};
  throw_errno("cannot be waited for", 0);
}

bool has_something(int fd, std::uint64_t offset) {
  pollfd asked{.fd = fd, .events = POLLIN, .revents = 0};
  const int ready = ::poll(&asked, 1, 0);
  if (ready < 0 && errno != EINTR) throw_errno("reading failed", offset);
  return ready > 0;
}

}  // namespace

stream_source::stream_source(const boost::asio::any_io_executor& executor, descriptor fd, std::size_t pipe_bytes)
    : fd_(std::move(fd)) {
  manner_ = choose_manner();
  const int reading = own_ ? own_.get() : fd_.get();
  enlarge_pipe(reading, pipe_bytes);
  // The descriptor that was handed in is waited for, not the reopened one: a FIFO that is reopened after its last
  // writer left never reports the hang-up.
  if (const descriptor set = epoll_set_of(fd_.get())) {
    waiter_.emplace(executor);
    boost::system::error_code error;
    const int handed_over = ::fcntl(set.get(), F_DUPFD_CLOEXEC, 0);  // the waiter closes it
    waiter_->assign(handed_over, error);
    if (error) {
      if (handed_over >= 0) ::close(handed_over);
      throw input_error("cannot be waited for: " + error.message(), 0);
    }
  } else {
    manner_ = manner::unpollable;
  }
}

stream_source::stream_source(stream_source&&) noexcept = default;
stream_source::~stream_source() = default;

stream_source::manner stream_source::choose_manner() {
  struct stat status{};
  const int flags = ::fcntl(fd_.get(), F_GETFL);
  if (flags < 0 || ::fstat(fd_.get(), &status) != 0) throw_errno("cannot be read", 0);
  if ((flags & O_ACCMODE) == O_WRONLY) throw input_error("is not open for reading", 0);
  if (S_ISSOCK(status.st_mode)) {
    require_byte_stream(fd_.get());
    return manner::socket;
  }
  if (!S_ISFIFO(status.st_mode)) return manner::polled;
  if ((flags & O_DIRECT) != 0) throw input_error("is a pipe of packets, not a stream of bytes", 0);
  if (fd_.owned() && (flags & O_NONBLOCK) != 0) {  // opened by name: the description is ours already
    wait_first_ = true;
    return manner::own_nonblocking;
  }
  own_ = reopen(fd_.get());
  return own_ ? manner::own_nonblocking : manner::polled;
}

std::string_view stream_source::kind() const {
  if (manner_ == manner::socket) return "socket";
  if (pipe_capacity() > 0) return "pipe";
  return ::isatty(fd_.get()) == 1 ? "terminal" : "device";
}

std::size_t stream_source::pipe_capacity() const {
  const int capacity = ::fcntl(own_ ? own_.get() : fd_.get(), F_GETPIPE_SZ);
  return capacity > 0 ? static_cast<std::size_t>(capacity) : 0;
}

boost::asio::awaitable<bool> stream_source::readable() {
  if (cancelled_) co_return false;
  if (!waiter_) {
    // by way of the executor, so that an endless /dev/zero does not keep a cancel() from running
    co_await boost::asio::post(co_await boost::asio::this_coro::executor, boost::asio::use_awaitable);
    co_return !cancelled_;
  }
  const auto result = co_await waiter_->async_wait(boost::asio::posix::descriptor_base::wait_read,
                                                   boost::asio::as_tuple(boost::asio::use_awaitable));
  const boost::system::error_code error = std::get<0>(result);
  if (cancelled_ || error == boost::asio::error::operation_aborted) co_return false;
  if (error) throw input_error("waiting failed: " + error.message(), position_);
  co_return true;
}

std::optional<std::size_t> stream_source::read_some(std::span<std::byte> out) {
  if (ended_) return 0;
  const int reading = own_ ? own_.get() : fd_.get();
  if (wait_first_ || manner_ == manner::polled) {
    if (!has_something(reading, position_)) return std::nullopt;
    wait_first_ = false;
  }
  for (;;) {
    const ssize_t got = manner_ == manner::socket ? ::recv(reading, out.data(), out.size(), MSG_DONTWAIT)
                                                  : ::read(reading, out.data(), out.size());
    if (got >= 0) {
      position_ += static_cast<std::size_t>(got);
      ended_ = got == 0 && !out.empty();
      return static_cast<std::size_t>(got);
    }
    if (errno == EAGAIN) return std::nullopt;
    if (errno != EINTR) throw_errno("reading failed", position_);
  }
}

void stream_source::cancel() noexcept {
  cancelled_ = true;
  if (waiter_) {
    boost::system::error_code ignored;
    waiter_->cancel(ignored);
  }
}

}  // namespace gpuhist::io
