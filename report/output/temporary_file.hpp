// A file with a temporary name in the folder of the file that it will replace. It is removed by its destructor, and
// also if a signal ends the process.
#pragma once

#include "io/descriptor.hpp"

#include <filesystem>

namespace gpuhist::report {

/// Owns the file name, not the descriptor. Any thread, one at a time.
class temporary_file {
 public:
  temporary_file() = default;
  temporary_file(const temporary_file&) = delete;
  temporary_file& operator=(const temporary_file&) = delete;
  ~temporary_file() { remove(); }

  /// Creates a file in the folder of `path`, open for writing, with the mode that the umask gives to a new file, and
  /// locks it until it is closed. Removes those of the same output that killed runs left: no process has locked them.
  /// `folder`: that of `path`; empty: it is looked up. Precondition: path() is empty. Throws std::system_error.
  io::descriptor create_beside(const std::filesystem::path& path, const io::descriptor& folder);

  /// Keeps the file, which was renamed.
  void release() noexcept;

  void remove() noexcept;

  /// Empty if there is no file.
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  io::descriptor create(int folder, const std::filesystem::path& path, unsigned number);
  bool announce() noexcept;
  void withdraw() noexcept;

  std::filesystem::path path_;
  bool announced_ = false;  // the signal handler removes this file
};

/// Removes a temporary file of this process, if there is one, just before the process ends. Async-signal-safe, any
/// thread.
void remove_temporary_file() noexcept;

}  // namespace gpuhist::report
