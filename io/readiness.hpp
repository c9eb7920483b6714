// Waits until a descriptor can be read or written, and reopens inherited pipes and terminals, without changing a flag
// that another process shares.
#pragma once

#include "async/task.hpp"
#include "io/descriptor.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/system/error_code.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace gpuhist::io {

/// An epoll set with one descriptor, and a waiter on it. Asio never gets the descriptor itself, because its async_wait
/// sets O_NONBLOCK. The set is level-triggered: after a partial read or write the descriptor is ready again. To be used
/// on the thread of its executor.
class readiness {
 public:
  /// `events`: EPOLLIN or EPOLLOUT. A regular file or /dev/null is always ready; every other failure to wait throws
  /// std::system_error.
  readiness(const boost::asio::any_io_executor& executor, int fd, std::uint32_t events);

  /// False: the descriptor is always ready, as far as the system reports.
  [[nodiscard]] bool can_wait() const { return waiter_.has_value(); }

  /// Completes when the descriptor is ready. If it is always ready, completes at once, through the executor. Error:
  /// operation_aborted after interrupt(), or the error of the system.
  async::task<boost::system::error_code> wait();

  /// Ends a wait() in progress.
  void interrupt() noexcept;

 private:
  std::optional<boost::asio::posix::stream_descriptor> waiter_;
};

/// Sets the largest capacity up to `wanted` bytes that the system allows. A larger pipe is not changed. Has no effect
/// on other descriptors.
void enlarge_pipe(int fd, std::size_t wanted) noexcept;

/// A separate non-blocking file description of the pipe or terminal `fd`; empty if that is not allowed (owned by
/// another user, no /proc). `access`: O_RDONLY or O_WRONLY.
descriptor reopen_nonblocking(int fd, int access) noexcept;

}  // namespace gpuhist::io
