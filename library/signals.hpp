// Signals in a library: a write to a pipe without a reader raises none, and threads of the library receive none.
#pragma once

#include <csignal>
#include <functional>
#include <thread>

namespace gpuhist::library {

/// While an object exists, SIGPIPE is blocked in this thread and in threads that it starts. One that was caused
/// meanwhile is discarded at the end; one that was pending before stays pending. Must be destroyed by the same thread.
class blocked_sigpipe {
 public:
  blocked_sigpipe() noexcept;
  blocked_sigpipe(const blocked_sigpipe&) = delete;
  blocked_sigpipe& operator=(const blocked_sigpipe&) = delete;
  ~blocked_sigpipe();

 private:
  sigset_t before_{};
  bool was_pending_ = false;
};

/// Starts a thread that runs no signal handlers of the program: signals are blocked, except those that its own
/// instructions cause (SIGSEGV, ...). Threads that it starts inherit that. The mask of the caller is unchanged. Throws
/// std::system_error.
std::thread start_without_signals(std::function<void()> body);

}  // namespace gpuhist::library
