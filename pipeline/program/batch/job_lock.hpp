// The lock of the folder of a batch job.
#pragma once

#include "io/descriptor.hpp"

#include <filesystem>

namespace gpuhist::pipeline {

/// While it exists, no other run writes to the folder, on this machine or on another one: the lock is one of fcntl(2),
/// which network file systems pass to their server. The system releases it when the process ends, however it ends, so
/// the lock of a dead run is taken over. The file names its owner for messages; its content is no lock.
class job_lock {
 public:
  /// Creates the file. Throws std::runtime_error that names the owner if another process has the lock,
  /// destination_error if the file cannot be written.
  explicit job_lock(const std::filesystem::path& file);

 private:
  io::descriptor file_;
};

}  // namespace gpuhist::pipeline
