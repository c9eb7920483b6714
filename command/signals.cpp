#include "command/signals.hpp"

#include "report/output/stop_signal.hpp"

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

namespace gpuhist::command {

namespace {

using clock = std::chrono::steady_clock;

constexpr std::array stop_signal_numbers = {SIGINT, SIGTERM, SIGHUP};
// These end the process at once, some with a core dump.
constexpr std::array fatal_signal_numbers = {SIGQUIT, SIGXCPU, SIGALRM, SIGUSR2,  SIGVTALRM,
                                             SIGPROF, SIGIO,   SIGPWR,  SIGSTKFLT};
constexpr std::chrono::seconds one_request{1};  // signals within it belong to one request

// Handlers can use only globals.
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
std::atomic<bool> keeps_first = false;
std::atomic<std::int64_t> kept_at = 0;  // the time of the stop signal, in ticks of the clock; 0: not set yet
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
  if (keeps_first && report::stop_signal_of_process.compare_exchange_strong(none, signal)) {
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
  report::stop_signal_of_process = 0;
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
  forget_signal();
  keeps_first = true;
  end_by_stop_signals();
}

kept_stop_signal::~kept_stop_signal() { keeps_first = false; }

int kept_stop_signal::received() { return report::stop_signal_of_process; }

int kept_stop_signal::notification() { return notified_fd; }

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

signal_requests::signal_requests(async::event_loop& loop, std::stop_source stop, std::shared_ptr<async::wakeup> status)
    : stop_notification_(loop.context(), kept_stop_signal::notification()),
      stop_(std::move(stop)),
      status_(std::move(status)) {
  if (is_ignored()) return;
  const sigset_t set = status_signal_set();
  const int fd = ::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  if (fd < 0) throw std::system_error(errno, std::system_category(), "SIGUSR1 cannot be watched");
  status_signal_.emplace(loop.context(), fd);
}

signal_requests::~signal_requests() { stop_notification_.release(); }  // the descriptor is not owned

void signal_requests::start() {
  await_stop();
  if (status_signal_) await_status();
}

// A handler that is due may be called after the object was destroyed.
//
// If ioctl(FIONBIO) fails with ENOTTY, Asio (1.81) sets the flag in another way, but reports the descriptor as readable
// at once. So the handlers check whether there was a signal.
void signal_requests::await_stop() {
  stop_notification_.async_wait(descriptor::wait_read, [watched = weak_from_this()](const auto& error) {
    const auto self = watched.lock();
    if (error || !self) return;
    if (kept_stop_signal::received() == 0) return self->await_stop();
    self->stop_.request_stop();
  });
}

void signal_requests::await_status() {
  status_signal_->async_wait(descriptor::wait_read, [watched = weak_from_this()](const auto& error) {
    const auto self = watched.lock();
    if (error || !self) return;
    signalfd_siginfo taken{};
    // The descriptor is readable. NOLINTNEXTLINE(clang-analyzer-unix.BlockInCriticalSection)
    if (::read(self->status_signal_->native_handle(), &taken, sizeof taken) == sizeof taken) self->status_->notify();
    self->await_status();
  });
}

}  // namespace gpuhist::command
