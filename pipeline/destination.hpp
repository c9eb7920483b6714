// Where reports go: standard output, an inherited descriptor, a device or FIFO (written in place), or a regular file
// that appears whole (temporary name beside it, fsync, rename, mode kept) unless it is a live stream.
#pragma once

#include "io/descriptor.hpp"

#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace gpuhist::pipeline {

/// A write that failed: names the destination and the system's reason. `code()` tells a consumer that left (EPIPE).
struct destination_error : std::system_error {
  using std::system_error::system_error;
};

class destination {
 public:
  /// `where`: nothing for standard output, "fd:N", or a path. `live`: lines are appended one by one, so a regular file
  /// is written in place (truncated first) and can be tailed. Throws destination_error.
  destination(const std::optional<std::string>& where, bool live);
  destination(const destination&) = delete;
  destination& operator=(const destination&) = delete;
  ~destination();  ///< without commit(): a temporary file is removed, the old file stays as it was

  /// Writes all of it (short writes and EINTR handled). Throws destination_error.
  void write(std::string_view text);

  /// Everything was written: makes the file appear; reports errors that only close or fsync see. Throws
  /// destination_error.
  void commit();

  [[nodiscard]] bool is_terminal() const;
  [[nodiscard]] std::optional<unsigned> terminal_width() const;

 private:
  std::string name_;  // for messages
  io::descriptor fd_;
  std::filesystem::path final_path_;  // empty: written in place
  std::filesystem::path temporary_path_;
};

}  // namespace gpuhist::pipeline
