// Pipes, sockets, terminals and other devices, read in order, without waiting and without changing a flag that another
// process shares.
#include "io/source.hpp"

#include <boost/asio/error.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace gpuhist::io {
namespace {

/// Upper bound of one read that is copied to the sink: the sink buffers the bytes for which it has no room.
constexpr std::size_t max_copied = std::size_t{1} << 20U;

[[noreturn]] void throw_errno(const std::string& action, std::uint64_t offset) {
  throw input_error(action + ": " + std::system_category().message(errno), offset);
}

/// Datagrams have no order, and a short buffer would cut them off silently.
void require_byte_stream(int fd) {
  int type = 0;
  socklen_t length = sizeof(type);
  if (::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) != 0) throw_errno("cannot be read", 0);
  if (type != SOCK_STREAM) throw input_error("is a socket of messages, not a stream of bytes", 0);
}

bool has_input(int fd, std::uint64_t offset) {
  pollfd query{.fd = fd, .events = POLLIN, .revents = 0};
  const int ready = ::poll(&query, 1, 0);
  if (ready < 0 && errno != EINTR) throw_errno("reading failed", offset);
  return ready > 0;
}

}  // namespace

stream_source::stream_source(const boost::asio::any_io_executor& executor, descriptor fd, std::size_t pipe_bytes)
    : fd_(std::move(fd)) {
  manner_ = choose_manner();
  enlarge_pipe(reading(), pipe_bytes);
  // Waits on the descriptor that was passed in, not on the reopened one: a FIFO that is reopened after its last writer
  // closed it never reports the hang-up.
  try {
    waiter_ = std::make_unique<readiness>(executor, fd_.get(), EPOLLIN);
  } catch (const std::system_error& error) {
    throw input_error("cannot be waited for: " + error.code().message(), 0);
  }
  if (!waiter_->can_wait()) manner_ = manner::unpollable;
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
  if (fd_.owned() && (flags & O_NONBLOCK) != 0) {  // opened by name: the description is not shared
    wait_first_ = true;
    return manner::own_nonblocking;
  }
  own_ = reopen_nonblocking(fd_.get(), O_RDONLY);
  return own_ ? manner::own_nonblocking : manner::polled;
}

std::string_view stream_source::kind() const {
  if (manner_ == manner::socket) return "socket";
  if (pipe_capacity() > 0) return "pipe";
  return ::isatty(fd_.get()) == 1 ? "terminal" : "device";
}

std::size_t stream_source::pipe_capacity() const {
  const int capacity = ::fcntl(reading(), F_GETPIPE_SZ);
  return capacity > 0 ? static_cast<std::size_t>(capacity) : 0;
}

async::task<bool> stream_source::readable() {
  if (cancelled_) co_return false;
  if (waits_for_room_) {
    const bool has_room = co_await pass_through_sink_->writable();
    waits_for_room_ = false;
    co_return has_room && !cancelled_;
  }
  const boost::system::error_code error = co_await waiter_->wait();
  if (cancelled_ || error == boost::asio::error::operation_aborted) co_return false;
  if (error) throw input_error("waiting failed: " + error.message(), position_);
  co_return true;
}

std::optional<std::size_t> stream_source::read_some(std::span<std::byte> out) {
  if (ended_) return 0;
  if (wait_first_ || manner_ == manner::polled) {
    if (!has_input(reading(), position_)) return std::nullopt;
    wait_first_ = false;
  }
  return pass_through_sink_ == nullptr ? read_now(out) : read_and_pass_through(out);
}

std::optional<std::size_t> stream_source::read_now(std::span<std::byte> out) {
  for (;;) {
    const ssize_t got = manner_ == manner::socket ? ::recv(reading(), out.data(), out.size(), MSG_DONTWAIT)
                                                  : ::read(reading(), out.data(), out.size());
    if (got >= 0) {
      position_ += static_cast<std::size_t>(got);
      ended_ = got == 0 && !out.empty();
      if (ended_ && end_check_) end_check_(position_);
      return static_cast<std::size_t>(got);
    }
    if (errno == EAGAIN) return std::nullopt;
    if (errno != EINTR) throw_errno("reading failed", position_);
  }
}

// Bytes that were passed through are read next. If another process reads the pipe as well, they may be fewer.
std::optional<std::size_t> stream_source::read_and_pass_through(std::span<std::byte> out) {
  waits_for_room_ = !pass_through_sink_->flush();
  if (waits_for_room_) return std::nullopt;
  if (tees_ && passed_through_ahead_ == 0) {
    const stream_sink::teed passed = pass_through_sink_->tee_from(reading(), out.size());
    passed_through_ahead_ = passed.bytes;
    waits_for_room_ = passed.status == stream_sink::tee_status::no_room;
    tees_ = passed.status != stream_sink::tee_status::impossible;
    if (tees_ && passed.bytes == 0 && passed.status != stream_sink::tee_status::source_has_ended) return std::nullopt;
  }
  if (passed_through_ahead_ == 0) {
    const std::size_t max_bytes = std::min(out.size(), max_copied);
    pass_through_sink_->reserve(max_bytes);  // bytes that were read must not be lost if memory is exhausted
    const std::optional<std::size_t> got = read_now(out.first(max_bytes));
    pass_through_sink_->take(out.first(got.value_or(0)));
    return got;
  }
  const std::optional<std::size_t> got =
      read_now(out.first(std::min<std::uint64_t>(out.size(), passed_through_ahead_)));
  passed_through_ahead_ -= got.value_or(0);
  return got;
}

void stream_source::pass_through_to(stream_sink& sink) {
  pass_through_sink_ = &sink;
  tees_ = sink.is_pipe() && pipe_capacity() > 0;
}

void stream_source::cancel() noexcept {
  cancelled_ = true;
  waiter_->interrupt();
  if (pass_through_sink_ != nullptr) pass_through_sink_->interrupt();
}

}  // namespace gpuhist::io
