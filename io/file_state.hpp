// The state of a file, by which a change is recognized after the file was read.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>

namespace gpuhist::io {

/// What a fingerprint covers. Ends: the first and last 64 KiB of a file of more than 1 MiB.
enum class fingerprinted : std::uint8_t {
  nothing,
  ends,         ///< a smaller file has no fingerprint
  ends_or_all,  ///< of a smaller file: all of it
  all,
};

/// Size and time and, because another file may have the same name, size and time, a fingerprint.
struct file_state {
  std::uint64_t bytes = 0;
  std::int64_t modified = 0;  ///< nanoseconds since 1970
  std::string fingerprint{};  ///< XXH3 (128 bits), hexadecimal digits; empty: there is none
  bool is_regular = true;

  bool operator==(const file_state&) const = default;
};

/// Without a fingerprint.
file_state state_of(const struct stat& found);

/// Opens only a regular file that has a fingerprint, and reads it in blocks. Nothing if it cannot be read; errno is set
/// then.
std::optional<file_state> state_of(const std::string& path, fingerprinted part = fingerprinted::nothing);

/// Whether a file of that size has a fingerprint.
bool has_fingerprint(std::uint64_t bytes, fingerprinted part);

/// Whether the file has another state than when it was counted; `counted` has a fingerprint of its ends or all of it.
/// False if it cannot be found. Reads it only if size and time are the same.
bool has_changed(const std::string& path, const file_state& counted);

}  // namespace gpuhist::io
