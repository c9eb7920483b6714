// Where the blocks of a zstd frame begin and end (RFC 8878, 3.1.1.2), found while the bytes go by.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace gpuhist::io {

/// Follows one frame behind its header, unit by unit. A unit is what can be right or wrong by itself: a block's header,
/// a block's content, the frame's checksum.
class zstd_blocks {
 public:
  zstd_blocks() = default;
  explicit zstd_blocks(bool has_checksum) : has_checksum_(has_checksum) {}

  /// How many bytes of the current unit are to come; 0 at the end of the frame only.
  [[nodiscard]] std::size_t left() const { return left_; }

  /// The header of the current block cannot be one: its type is reserved, or it is larger than blocks are.
  [[nodiscard]] bool is_damaged() const { return damaged_; }

  /// Goes on by `bytes`, the next ones of the frame, at most left() of them.
  void advance(std::span<const std::byte> bytes);

 private:
  enum class unit { header, content, checksum, end };

  void enter_next();
  void enter_content();

  static constexpr std::size_t block_header_bytes = 3;

  bool has_checksum_ = false;
  bool last_ = false;
  bool damaged_ = false;
  unit unit_ = unit::header;
  std::size_t left_ = block_header_bytes;
  std::uint32_t header_ = 0;
};

}  // namespace gpuhist::io
