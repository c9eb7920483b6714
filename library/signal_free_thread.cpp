#include "library/signal_free_thread.hpp"

#include <csignal>
#include <utility>

namespace gpuhist::pipeline {
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

}  // namespace gpuhist::pipeline
