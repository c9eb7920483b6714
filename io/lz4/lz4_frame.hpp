// The lz4 frame format (lz4_Frame_format.md, version 1.6.x): headers of frames, and where blocks begin and end, found
// while the bytes go by.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace gpuhist::io {

inline constexpr std::size_t lz4_max_header_bytes = 19;

/// Of a legacy frame's blocks (0x184C2102), which are all of this size but the last.
inline constexpr std::uint32_t lz4_legacy_block_bytes = 8U << 20U;

enum class lz4_kind { frame, skippable, legacy };

struct lz4_frame_header {
  lz4_kind kind = lz4_kind::frame;
  std::size_t header_bytes = 0;
  std::uint32_t skip_bytes = 0;   ///< of a skippable frame, behind its header
  std::uint32_t block_bytes = 0;  ///< of text, in one block at the most
  bool linked_blocks = false;     ///< blocks repeat what is in those before them
  bool block_checksums = false;
  bool content_checksum = false;
  std::uint32_t dictionary_id = 0;  ///< 0: none
};

enum class lz4_header_status { needs_more, complete, not_lz4, reserved_bits, unknown_version, wrong_block_size };

struct lz4_header_result {
  lz4_header_status status = lz4_header_status::needs_more;
  lz4_frame_header header;
};

/// The header of a frame from its first bytes: decided with as few of them as decide it. Its checksum is not looked at.
lz4_header_result parse_lz4_header(std::span<const std::byte> bytes);

/// Follows one frame of kind `frame` behind its header, unit by unit. A unit is what can be right or wrong by itself: a
/// block's size, its content, its checksum, that of the frame.
class lz4_blocks {
 public:
  lz4_blocks() = default;
  explicit lz4_blocks(const lz4_frame_header& header) : header_(header) {}

  /// How many bytes of the current unit are to come; 0 at the end of the frame only.
  [[nodiscard]] std::size_t left() const { return left_; }

  /// The current block is larger than blocks of this frame are.
  [[nodiscard]] bool is_damaged() const { return damaged_; }

  /// Goes on by `bytes`, the next ones of the frame, at most left() of them.
  void advance(std::span<const std::byte> bytes);

 private:
  enum class unit { size, content, block_checksum, content_checksum, end };

  void enter(unit next, std::size_t bytes);
  void enter_next();
  void leave_size();

  static constexpr std::size_t size_bytes = 4;

  lz4_frame_header header_;
  bool damaged_ = false;
  unit unit_ = unit::size;
  std::size_t left_ = size_bytes;
  std::uint32_t size_ = 0;
};

}  // namespace gpuhist::io
