// A new file under a temporary name, beside the one whose place it is to take. It is removed with its owner, and also
// where a signal ends the process.
#pragma once

#include "io/descriptor.hpp"

#include <filesystem>

namespace gpuhist::pipeline {

/// Owns the name, not the descriptor. Main thread for create_beside(); the rest on any thread, one at a time.
class temporary_file {
 public:
  temporary_file() = default;
  temporary_file(const temporary_file&) = delete;
  temporary_file& operator=(const temporary_file&) = delete;
  ~temporary_file() { remove(); }

  /// Creates one in the folder of `path`, open for writing, with the mode that the umask gives to a new file.
  /// Precondition: there is none now. Throws std::system_error.
  io::descriptor create_beside(const std::filesystem::path& path);

  /// It has another name now, and stays.
  void release() noexcept;

  void remove() noexcept;

  /// Empty where there is none.
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  bool announce() noexcept;
  void withdraw() noexcept;

  std::filesystem::path path_;
  bool announced_ = false;  // to the signal handler
};

/// Removes the temporary file of this process, if there is one, in its last moment. Async-signal-safe, any thread.
void remove_temporary_file() noexcept;

}  // namespace gpuhist::pipeline
