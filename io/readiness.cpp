#include "io/readiness.hpp"

#include "async/event_loop.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>

namespace gpuhist::io {
namespace asio = boost::asio;

namespace {

/// Empty if epoll refuses `fd` because it is always ready. Asio changes only the flags of the set, which no other
/// process shares.
descriptor epoll_set_of(int fd, std::uint32_t events) {
  descriptor set(::epoll_create1(EPOLL_CLOEXEC));
  epoll_event event{};
  event.events = events;
  if (set && ::epoll_ctl(set.get(), EPOLL_CTL_ADD, fd, &event) == 0) return set;
  if (set && errno == EPERM) return {};
  throw std::system_error(errno, std::system_category());
}

}  // namespace

readiness::readiness(const asio::any_io_executor& executor, int fd, std::uint32_t events) {
  const descriptor set = epoll_set_of(fd, events);
  if (!set) return;
  const int duplicate = ::fcntl(set.get(), F_DUPFD_CLOEXEC, 0);  // the waiter closes it
  if (duplicate < 0) throw std::system_error(errno, std::system_category());
  waiter_.emplace(executor);
  boost::system::error_code error;
  waiter_->assign(duplicate, error);
  if (!error) return;
  ::close(duplicate);
  throw std::system_error(error.value(), std::system_category());
}

async::task<boost::system::error_code> readiness::wait() {
  if (!waiter_) {
    // through the executor, so that an endless /dev/zero does not starve other tasks
    co_await async::yield();
    co_return boost::system::error_code{};
  }
  co_return co_await async::readability_of(*waiter_);
}

void readiness::interrupt() noexcept {
  boost::system::error_code ignored;
  if (waiter_) waiter_->cancel(ignored);
}

void enlarge_pipe(int fd, std::size_t wanted) noexcept {
  const int current = ::fcntl(fd, F_GETPIPE_SZ);
  if (current <= 0) return;
  for (int size = static_cast<int>(std::min(wanted, std::size_t{1} << 30U)); size > current; size /= 2) {
    if (::fcntl(fd, F_SETPIPE_SZ, size) >= 0) return;
  }
}

descriptor reopen_nonblocking(int fd, int access) noexcept {
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  return descriptor(::open(path.c_str(), access | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
}

}  // namespace gpuhist::io
