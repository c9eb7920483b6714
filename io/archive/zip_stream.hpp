// Follows a zip archive that is read once, beside libarchive: keeps the local headers until the directory arrives,
// which is compared with them. libarchive passes over bytes between members without a message.
#pragma once

#include "io/archive/zip_directory.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gpuhist::io {

/// Memory: 80 bytes for each member, and the bytes that libarchive has not consumed, with the last 128 KiB before them.
class zip_stream {
 public:
  /// Takes the next bytes of the archive; libarchive has consumed the archive up to this offset.
  void advance(std::span<const std::byte> bytes, std::uint64_t consumed);

  /// libarchive has searched for a local header from this offset on, and has read one. Returns whether it was found.
  bool take_header(std::uint64_t begin);

  /// libarchive has searched for a local header from this offset on, and has found the directory, or an end record.
  /// Returns its offset.
  std::uint64_t take_directory(std::uint64_t begin);

  /// All bytes from this offset on that were taken. Valid until the next call of advance().
  [[nodiscard]] std::span<const std::byte> bytes_from(std::uint64_t offset) const;

  /// The local headers, in the order of their offsets.
  [[nodiscard]] std::span<const zip_local> members() const { return members_; }

 private:
  [[nodiscard]] std::uint64_t kept_at() const { return end_ - kept_.size(); }
  void end_member(std::uint64_t next);

  std::vector<std::byte> kept_;
  std::uint64_t end_ = 0;  // of the bytes that were taken
  std::vector<zip_local> members_;
};

}  // namespace gpuhist::io
