// Waiting until a descriptor can be read or written, and the pipes and terminals behind inherited descriptors, without
// touching a flag that another process shares.
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

/// An epoll set that holds one descriptor, and what waits for it. Asio never sees the descriptor itself, because its
/// async_wait sets O_NONBLOCK. Level-triggered, so that after a partial read or write it is ready again. For the thread
/// of its executor.
class readiness {
 public:
  /// `events`: EPOLLIN or EPOLLOUT. Throws std::system_error where waiting fails for another reason than that `fd` (a
  /// regular file, /dev/null) is always ready.
  readiness(const boost::asio::any_io_executor& executor, int fd, std::uint32_t events);

  /// False: always ready, as far as the system knows.
  [[nodiscard]] bool can_wait() const { return waiter_.has_value(); }

  /// Completes when the descriptor is ready; at once, but by way of the executor, where it always is. An error:
  /// operation_aborted after interrupt(), or what the system says.
  async::task<boost::system::error_code> wait();

  /// Ends a wait() in progress.
  void interrupt() noexcept;

 private:
  std::optional<boost::asio::posix::stream_descriptor> waiter_;
};

/// The largest capacity up to `wanted` bytes that the system allows; a pipe that is larger already stays as it is. Does
/// nothing to what is no pipe.
void enlarge_pipe(int fd, std::size_t wanted) noexcept;

/// A description of our own, non-blocking, of the pipe or terminal that `fd` is; none where that is not allowed
/// (another user's, no /proc). `access`: O_RDONLY or O_WRONLY.
descriptor reopen_nonblocking(int fd, int access) noexcept;

}  // namespace gpuhist::io
