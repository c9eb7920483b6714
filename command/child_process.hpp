// A shell command as a child process: its start, its standard input, and its end.
#pragma once

#include "io/descriptor.hpp"

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace gpuhist::command {

/// How a child process ended.
struct child_end {
  enum class kind : std::uint8_t {
    exited,    ///< `value` is its exit status
    signaled,  ///< `value` is the signal
    unknown,   ///< the status was lost
  };

  kind type = kind::unknown;
  int value = 0;

  [[nodiscard]] bool is_success() const { return type == kind::exited && value == 0; }
};

/// "ended with status 3", "was ended by SIGTERM".
std::string text_of(const child_end& ended);

/// One child process, a process group of its own. Any thread, one at a time. A child that still runs when the object is
/// destroyed continues to run.
class child_process {
 public:
  child_process() = default;
  child_process(const child_process&) = delete;
  child_process& operator=(const child_process&) = delete;
  ~child_process() = default;

  /// Starts `/bin/sh -c command` with this environment ("NAME=value"), once. Returns 0, or an error number.
  ///
  /// Standard input is a pipe; standard output and standard error are the standard error of this process. No other
  /// descriptor is inherited. No signal is blocked, and all have their default actions; an ignored SIGHUP stays
  /// ignored.
  [[nodiscard]] int start(const std::string& command, std::span<const std::string> environment);

  /// The end of the pipe that is written to; does not block. Writing fails with EPIPE if the child has closed its end,
  /// and raises SIGPIPE unless this is ignored or blocked.
  [[nodiscard]] const io::descriptor& input() const { return input_; }
  void close_input() { input_ = {}; }

  /// Readable from the end of the child on; -1 if the system has no such descriptor (before Linux 5.3).
  [[nodiscard]] int end_descriptor() const { return end_.get(); }

  /// Does not block. Nothing while the child runs; the end, once.
  [[nodiscard]] std::optional<child_end> take_end() const;

  /// Sends SIGTERM to the process group, also if it is suspended. Precondition: take_end() has not returned the end.
  void terminate() const;

 private:
  pid_t pid_ = -1;
  io::descriptor input_;
  io::descriptor end_;  // a pidfd
};

}  // namespace gpuhist::command
