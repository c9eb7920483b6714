// Finds the ends of the blocks of a zstd frame (RFC 8878, 3.1.1.2) as the bytes pass.
#pragma once

#include "io/zstd/zstd_frame.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace gpuhist::io {

enum class zstd_block_type { raw, run_length, compressed, reserved };

/// The header of a block: 24 bits, little endian: last block (1) | type (2) | size (21).
struct zstd_block_header {
  static constexpr std::size_t bytes = 3;
  static constexpr std::uint32_t max_size = 128U << 10U;

  bool is_last = false;
  zstd_block_type type = zstd_block_type::raw;
  std::uint32_t size = 0;  ///< of the content; of a run: of its text

  explicit zstd_block_header(std::uint32_t bits)
      : is_last((bits & 1U) != 0), type(static_cast<zstd_block_type>(bits >> 1U & 3U)), size(bits >> 3U) {}

  [[nodiscard]] bool is_damaged() const { return type == zstd_block_type::reserved || size > max_size; }
  [[nodiscard]] std::uint32_t content_bytes() const { return type == zstd_block_type::run_length ? 1 : size; }
};

/// Follows one frame after its header, part by part. A part is decoded as a whole or not at all: a block header, the
/// content of a block, the checksum of the frame.
class zstd_blocks {
 public:
  zstd_blocks() = default;
  explicit zstd_blocks(const zstd_frame_header& frame) : frame_(frame) {}

  /// The number of missing bytes of the current part; 0 only at the end of the frame.
  [[nodiscard]] std::size_t remaining() const { return remaining_; }

  /// Whether the header of the current block is invalid: a reserved type, or a size above the maximum.
  [[nodiscard]] bool is_damaged() const { return damaged_; }

  /// The header of the current block; at the end of the frame, of the last one.
  [[nodiscard]] zstd_block_header block() const { return zstd_block_header(header_); }

  [[nodiscard]] const zstd_frame_header& frame() const { return frame_; }

  /// Whether a block begins here, and whether it is the first one.
  [[nodiscard]] bool is_at_block() const { return part_ == part::header && remaining_ == zstd_block_header::bytes; }
  [[nodiscard]] bool is_at_first_block() const { return is_at_block() && is_first_; }

  /// Takes the next bytes of the frame, at most remaining() of them.
  void advance(std::span<const std::byte> bytes);

 private:
  enum class part { header, content, checksum, end };

  void enter_next();
  void enter_content();

  zstd_frame_header frame_;
  bool is_first_ = true;
  bool last_ = false;
  bool damaged_ = false;
  part part_ = part::header;
  std::size_t remaining_ = zstd_block_header::bytes;
  std::uint32_t header_ = 0;
};

}  // namespace gpuhist::io
