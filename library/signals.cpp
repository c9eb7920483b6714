#include "library/signals.hpp"

#include <csignal>
#include <ctime>
#include <utility>

namespace gpuhist::library {

namespace {

sigset_t only_sigpipe() noexcept {
  sigset_t made{};
  sigemptyset(&made);
  sigaddset(&made, SIGPIPE);
  return made;
}

}  // namespace

blocked_sigpipe::blocked_sigpipe() noexcept {
  sigset_t pending{};
  sigpending(&pending);
  was_pending_ = sigismember(&pending, SIGPIPE) == 1;
  const sigset_t blocked = only_sigpipe();
  pthread_sigmask(SIG_BLOCK, &blocked, &before_);
}

blocked_sigpipe::~blocked_sigpipe() {
  const sigset_t blocked = only_sigpipe();
  constexpr timespec at_once{};
  if (!was_pending_) sigtimedwait(&blocked, nullptr, &at_once);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

namespace {

class blocked_signals {
 public:
  blocked_signals() noexcept {
    sigset_t all;
    sigfillset(&all);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) sigdelset(&all, fault);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  blocked_signals(const blocked_signals&) = delete;
  blocked_signals& operator=(const blocked_signals&) = delete;
  ~blocked_signals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

}  // namespace

std::thread start_without_signals(std::function<void()> body) {
  const blocked_signals blocked;
  return std::thread(std::move(body));
}

}  // namespace gpuhist::library
