// Bytes that are written once, in pieces, and read back: in memory as long as they are few, else in a file without a
// name in the folder for temporary files, which is gone with the process.
#pragma once

#include "io/descriptor.hpp"

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>

namespace gpuhist::pipeline {

/// The temporary file cannot be had or does not take what is to be written: the message names the folder, the cause and
/// the remedy.
struct spill_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// All members are thread-safe.
class spilled_bytes {
 public:
  /// `in_memory`: bytes that are held in memory at most; of a larger piece, that piece alone.
  explicit spilled_bytes(std::size_t in_memory) : in_memory_(in_memory) {}

  /// Returns where the piece lies. Throws spill_error where memory holds as much as it may and no file takes it (no
  /// folder, no room), and std::bad_alloc; nothing has changed then, and a later call tries again.
  std::uint64_t append(std::string_view piece);

  /// Takes back what was appended behind the first `length` bytes: for whoever wrote it and is its only reader.
  void cut_back(std::uint64_t length);

  /// How many bytes there are in all.
  [[nodiscard]] std::uint64_t size() const;

  /// Up to `length` bytes from there; fewer only where there are no more, or at the end of a piece. Throws
  /// std::system_error where the file cannot be read back.
  [[nodiscard]] std::string read(std::uint64_t from, std::size_t length) const;

  /// Bytes that are held in memory now.
  [[nodiscard]] std::size_t held() const;

 private:
  void spill();

  const std::size_t in_memory_;
  mutable std::mutex mutex_;
  io::descriptor file_;
  std::uint64_t file_bytes_ = 0;
  std::string tail_;  // behind those of the file
};

}  // namespace gpuhist::pipeline
