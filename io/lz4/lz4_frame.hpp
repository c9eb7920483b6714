// The lz4 frame format (lz4_Frame_format.md, version 1.6.x): parses frame headers, and finds the ends of blocks as the
// bytes pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace gpuhist::io {

inline constexpr std::size_t lz4_max_header_bytes = 19;

/// The text size of each block of a legacy frame (0x184C2102), except the last.
inline constexpr std::uint32_t lz4_legacy_block_bytes = 8U << 20U;

enum class lz4_kind { frame, skippable, legacy };

/// In the size field of a block: its bytes are text.
inline constexpr std::uint32_t lz4_stored_bit = 0x80000000U;

struct lz4_frame_header {
  lz4_kind kind = lz4_kind::frame;
  std::size_t header_bytes = 0;
  std::uint32_t skip_bytes = 0;   ///< of a skippable frame, after its header
  std::uint32_t block_bytes = 0;  ///< maximum text size of a block
  std::uint64_t text_bytes = 0;   ///< of the frame; 0: not stated
  bool linked_blocks = false;     ///< blocks refer to text of earlier blocks
  bool block_checksums = false;
  bool content_checksum = false;
  std::uint32_t dictionary_id = 0;  ///< 0: none
  bool operator==(const lz4_frame_header&) const = default;
};

enum class lz4_header_status { needs_more, complete, not_lz4, reserved_bits, unknown_version, wrong_block_size };

struct lz4_header_result {
  lz4_header_status status = lz4_header_status::needs_more;
  lz4_frame_header header;
};

/// Parses the header of a frame from its first bytes; decides as early as possible. Its checksum is not verified.
lz4_header_result parse_lz4_header(std::span<const std::byte> bytes);

/// Follows one frame of kind `frame` after its header, part by part. A part is decoded as a whole or not at all: the
/// size of a block, its content, its checksum, the checksum of the frame.
class lz4_blocks {
 public:
  lz4_blocks() = default;
  explicit lz4_blocks(const lz4_frame_header& header) : header_(header) {}

  /// The number of missing bytes of the current part; 0 only at the end of the frame.
  [[nodiscard]] std::size_t remaining() const { return remaining_; }

  /// Whether the current block exceeds the block size of this frame.
  [[nodiscard]] bool is_damaged() const { return damaged_; }

  /// Whether a block or the end mark begins here.
  [[nodiscard]] bool is_at_block() const { return part_ == part::size && remaining_ == size_bytes; }

  [[nodiscard]] const lz4_frame_header& header() const { return header_; }

  /// Takes the next bytes of the frame, at most remaining() of them.
  void advance(std::span<const std::byte> bytes);

 private:
  enum class part { size, content, block_checksum, content_checksum, end };

  void enter(part next, std::size_t bytes);
  void enter_next();
  void leave_size();

  static constexpr std::size_t size_bytes = 4;

  lz4_frame_header header_;
  bool damaged_ = false;
  part part_ = part::size;
  std::size_t remaining_ = size_bytes;
  std::uint32_t size_ = 0;
};

}  // namespace gpuhist::io
