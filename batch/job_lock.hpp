// The lock of the folder of a batch job.
#pragma once

#include "io/descriptor.hpp"

#include <filesystem>
#include <functional>
#include <string>

namespace gpuhist::pipeline {

/// Locks a whole file for writing. `command`: F_OFD_SETLK or, to wait, F_OFD_SETLKW. False: errno is the cause.
[[nodiscard]] bool lock_whole(int file, int command);

/// While it exists, no other run writes to the folder, on this machine or on another one: the lock is one of fcntl(2),
/// which network file systems pass to their server. The system releases it when the process ends, however it ends, so
/// the lock of a dead run is taken over. The file names its owner for messages; its content is no lock.
class job_lock {
 public:
  /// Creates the file. If another process has the lock, calls `wait` with a text that names it, and waits for its end;
  /// without `wait`, throws std::runtime_error with that text. Throws destination_error if the file cannot be written.
  /// Precondition of waiting: the process handles no signals, so that they end it.
  explicit job_lock(const std::filesystem::path& file, const std::function<void(const std::string&)>& wait = {});

 private:
  io::descriptor file_;
};

}  // namespace gpuhist::pipeline
