#include "library/blocked_sigpipe.hpp"

#include <ctime>

namespace gpuhist::pipeline {
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

}  // namespace gpuhist::pipeline
