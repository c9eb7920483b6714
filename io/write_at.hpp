// Writing bytes at an offset of a file.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string_view>

namespace gpuhist::io {

/// Writes all bytes, also after interruptions and partial writes. False: errno is the cause, and a part may have been
/// written.
[[nodiscard]] inline bool write_at(int file, std::string_view bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written == 0) errno = ENOSPC;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
  }
  return true;
}

}  // namespace gpuhist::io
