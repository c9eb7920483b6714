// Bytes that are written once, in pieces, and read back. A few are held in memory; the rest is in an unnamed file,
// which the system removes when the process ends.
#pragma once

#include "io/descriptor.hpp"

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace gpuhist::pipeline {

/// The temporary file cannot be created or written. The message names the folder, the cause and the remedy.
struct spill_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Where the file is.
struct spill_folder {
  std::string path = "/tmp";                               ///< empty: there is no file, and all bytes stay in memory
  std::string content = "the reports of finished inputs";  ///< what the file holds, in messages
};

/// All members are thread-safe.
class spilled_bytes {
 public:
  /// `in_memory`: bytes that are held in memory at most; a larger piece is held alone.
  explicit spilled_bytes(std::size_t in_memory, spill_folder folder = {})
      : in_memory_(in_memory), folder_(std::move(folder)) {}

  [[nodiscard]] const spill_folder& folder() const { return folder_; }

  /// Returns the offset of the piece. Throws spill_error if `in_memory` is exceeded and the file cannot be created or
  /// written, and std::bad_alloc. If it throws, nothing has changed, and a later call tries again.
  std::uint64_t append(std::string_view piece);

  /// Removes all bytes after the first `length`. Precondition: the caller is the only writer and reader of them.
  void cut_back(std::uint64_t length);

  /// Bytes in memory and in the file.
  [[nodiscard]] std::uint64_t size() const;

  /// Up to `length` bytes from this offset; fewer only at the end of all bytes or of a piece. Throws std::system_error
  /// if the file cannot be read.
  [[nodiscard]] std::string read(std::uint64_t from, std::size_t length) const;

  /// Bytes in memory.
  [[nodiscard]] std::size_t held() const;

 private:
  void spill();

  const std::size_t in_memory_;
  const spill_folder folder_;
  mutable std::mutex mutex_;
  io::descriptor file_;
  std::uint64_t file_bytes_ = 0;
  std::string tail_;  // the bytes after those of the file
};

}  // namespace gpuhist::pipeline
