#include "pipeline/flow/signals.hpp"

#include "async/event_loop.hpp"
#include "async/semaphore.hpp"

#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <system_error>
#include <utility>

namespace gpuhist::pipeline {

namespace {

using clock = std::chrono::steady_clock;

constexpr std::array stop_signal_numbers = {SIGINT, SIGTERM, SIGHUP};
// These end the process at once, some with a core dump.
constexpr std::array fatal_signal_numbers = {SIGQUIT, SIGXCPU, SIGALRM, SIGUSR2,  SIGVTALRM,
                                             SIGPROF, SIGIO,   SIGPWR,  SIGSTKFLT};
constexpr std::chrono::seconds one_request{1};  // signals within it belong to one request

// Handlers can use only globals.
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
int keepers = 0;  // main thread only
std::atomic<bool> keeps_first = false;
std::atomic<int> kept_signal = 0;
std::atomic<std::int64_t> kept_at = 0;  // ticks of the clock; 0: not set yet
std::atomic<int> notified_fd = -1;
std::atomic<void (*)() noexcept> clean_up_of_process = nullptr;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free &&
              std::atomic<std::int64_t>::is_always_lock_free);

// ---- handlers: only async-signal-safe calls

void set_default(int signal) {
  struct sigaction action{};
  action.sa_handler = SIG_DFL;
  ::sigaction(signal, &action, nullptr);
}

// Only on the main thread: it may be creating a temporary file at this moment.
void end_process(int signal) {
  if (::gettid() != ::getpid()) {
    ::tgkill(::getpid(), ::getpid(), signal);
    return;
  }
  if (void (*const clean_up)() noexcept = clean_up_of_process) clean_up();
  set_default(signal);
  ::raise(signal);  // blocked in the handler; delivered when it returns
}

std::int64_t now() { return clock::now().time_since_epoch().count(); }

void notify() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(notified_fd, &one, sizeof one);
}

bool is_repeated_late() {
  const std::int64_t first = kept_at;
  return first != 0 && clock::duration(now() - first) >= one_request;
}

void take_signal(int signal) {
  const int error_before = errno;
  int none = 0;
  if (keeps_first && kept_signal.compare_exchange_strong(none, signal)) {
    kept_at = now();
    notify();
  } else if (!keeps_first || is_repeated_late()) {
    end_process(signal);
  }
  errno = error_before;
}

// ---- not called by handlers

void handle(int signal, void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  for (const int each : stop_signal_numbers) ::sigaddset(&action.sa_mask, each);
  for (const int each : fatal_signal_numbers) ::sigaddset(&action.sa_mask, each);
  ::sigaction(signal, &action, nullptr);
}

auto handler_of(int signal) {
  struct sigaction action{};
  return ::sigaction(signal, nullptr, &action) == 0 ? action.sa_handler : SIG_IGN;
}

// Open until the process ends, because a handler may write to it at any time.
int notification_descriptor() {
  if (notified_fd < 0) notified_fd = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (notified_fd < 0) throw std::system_error(errno, std::system_category(), "signals cannot be watched");
  return notified_fd;
}

void forget_signal() {
  std::uint64_t ignored = 0;
  [[maybe_unused]] const ssize_t count = ::read(notification_descriptor(), &ignored, sizeof ignored);
  kept_at = 0;
  kept_signal = 0;
}

}  // namespace

void clean_up_before_end(void (*clean_up)() noexcept) { clean_up_of_process = clean_up; }

void end_by_stop_signals() {
  for (const int each : stop_signal_numbers) {
    if (handler_of(each) != SIG_IGN) handle(each, take_signal);
  }
  for (const int each : fatal_signal_numbers) {  // a profiler may have installed handlers before: these stay
    if (handler_of(each) == SIG_DFL) handle(each, end_process);
  }
}

kept_stop_signal::kept_stop_signal() {
  if (keepers == 0) forget_signal();
  ++keepers;
  keeps_first = true;
  end_by_stop_signals();
}

kept_stop_signal::~kept_stop_signal() {
  if (--keepers == 0) keeps_first = false;
}

int kept_stop_signal::received() { return kept_signal; }

int kept_stop_signal::notification() { return notified_fd; }

stop_signals::stop_signals(boost::asio::io_context& context, bool watch, std::stop_source stop)
    : stop_(std::move(stop)) {
  if (!watch) return;
  kept_.emplace();
  notified_.emplace(context, kept_stop_signal::notification());
  wait();
}

// If ioctl(FIONBIO) fails with ENOTTY, Asio (1.81) sets the flag in another way, but reports the descriptor as readable
// at once. So the handler checks whether there was a signal.
void stop_signals::wait() {
  notified_->async_wait(boost::asio::posix::descriptor_base::wait_read, [this](const boost::system::error_code& error) {
    if (error) return;
    received_ = kept_stop_signal::received();
    if (received_ == 0) return wait();
    stop_.request_stop();
  });
}

stop_signals::~stop_signals() {
  if (notified_) notified_->release();  // the descriptor is not owned
}

void stop_signals::ignore() {
  boost::system::error_code ignored;
  if (notified_) notified_->cancel(ignored);
}

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
