#include "pipeline/flow/status_signal.hpp"

#include "async/event_loop.hpp"
#include "async/semaphore.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>

namespace gpuhist::pipeline {
namespace {

sigset_t status_signal_set() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGUSR1);
  return set;
}

// A blocked signal becomes pending even if it is ignored, so this must be asked.
bool is_ignored() {
  struct sigaction action{};
  return ::sigaction(SIGUSR1, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

void hold_status_signal() {
  if (is_ignored()) return;
  const sigset_t set = status_signal_set();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

status_signal::status_signal(boost::asio::io_context& context, bool watch) {
  if (!watch || is_ignored()) return;
  const sigset_t set = status_signal_set();
  const int fd = ::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  if (fd < 0) throw std::system_error(errno, std::system_category(), "SIGUSR1 cannot be watched");
  waiter_.emplace(context, fd);
}

async::task<> status_signal::received() {
  signalfd_siginfo taken{};
  do {
    if (is_cancelled_) throw async::wait_ended();  // cancelled before the wait
    const boost::system::error_code error = co_await async::readability_of(*waiter_);
    if (error || is_cancelled_) throw async::wait_ended();
  } while (::read(waiter_->native_handle(), &taken, sizeof(taken)) != sizeof(taken));
}

void status_signal::cancel() {
  is_cancelled_ = true;
  boost::system::error_code ignored;
  if (waiter_) waiter_->cancel(ignored);
}

}  // namespace gpuhist::pipeline
