// Finds the ends of the blocks of a zstd frame (RFC 8878, 3.1.1.2) as the bytes pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace gpuhist::io {

/// Follows one frame after its header, part by part. A part is decoded as a whole or not at all: a block header, the
/// content of a block, the checksum of the frame.
class zstd_blocks {
 public:
  zstd_blocks() = default;
  explicit zstd_blocks(bool has_checksum) : has_checksum_(has_checksum) {}

  /// The number of missing bytes of the current part; 0 only at the end of the frame.
  [[nodiscard]] std::size_t remaining() const { return remaining_; }

  /// Whether the header of the current block is invalid: a reserved type, or a size above the maximum.
  [[nodiscard]] bool is_damaged() const { return damaged_; }

  /// Takes the next bytes of the frame, at most remaining() of them.
  void advance(std::span<const std::byte> bytes);

 private:
  enum class part { header, content, checksum, end };

  void enter_next();
  void enter_content();

  static constexpr std::size_t block_header_bytes = 3;

  bool has_checksum_ = false;
  bool last_ = false;
  bool damaged_ = false;
  part part_ = part::header;
  std::size_t remaining_ = block_header_bytes;
  std::uint32_t header_ = 0;
};

}  // namespace gpuhist::io
