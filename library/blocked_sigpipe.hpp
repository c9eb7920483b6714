// Writing to a pipe or socket without a reader, without the signal for it.
#pragma once

#include <csignal>

namespace gpuhist::pipeline {

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

}  // namespace gpuhist::pipeline
