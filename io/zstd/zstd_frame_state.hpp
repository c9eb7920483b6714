// What the blocks of a zstd frame leave for those after them: tables, offsets, text. All blocks that are added are
// valid by RFC 8878. Others are left to libzstd, which gets the state of the frame as a dictionary: so its verdict, its
// words and its text are the same as if it had decoded the whole frame.
#pragma once

#include "io/zstd/zstd_execution.hpp"
#include "io/zstd/zstd_frame.hpp"
#include "io/zstd/zstd_sequences.hpp"
#include "io/zstd/zstd_tables.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gpuhist::io {

inline constexpr std::size_t zstd_part_blocks = 16;  ///< of a part, at most: 2 MiB of text

/// The state of a frame after some of its blocks. Copies share text (zstd_text).
class zstd_frame_state {
 public:
  zstd_frame_state() = default;

  /// Before the first block.
  explicit zstd_frame_state(const zstd_frame_header& frame);

  /// The text of the next block, valid as long as a copy of the state keeps it. Nothing: the block is not valid; then
  /// nothing changes. Throws std::bad_alloc.
  std::optional<std::span<const std::byte>> add(const zstd_block_plan& block, const zstd_kept_descriptions& tables,
                                                bool is_last);

  /// Whether a block of `bytes` bytes of text fits into the size that the frame states.
  [[nodiscard]] bool fits(std::uint64_t bytes, bool is_last) const;

  void fork() { text_.fork(); }

  [[nodiscard]] const zstd_known_tables& tables() const { return tables_; }
  [[nodiscard]] std::uint64_t text_bytes() const { return text_.bytes(); }

  /// Whether the buffer of libzstd would have been used up, and it would have begun at its front again.
  [[nodiscard]] bool has_turned() const { return turn_ != 0; }

  /// Whether resume() gives exactly the results of libzstd, also for a damaged rest of the frame.
  [[nodiscard]] bool may_resume() const;

  /// What makes libzstd continue after these blocks: a dictionary, and a begin of a frame that uses it and has
  /// `text_bytes` bytes of text.
  struct resumption {
    std::vector<std::byte> dictionary{};
    std::vector<std::byte> begin{};
    std::size_t text_bytes = 0;
  };

  /// Nothing: an offset is longer ago than the text. Throws std::bad_alloc.
  [[nodiscard]] std::optional<resumption> resume() const;

 private:
  [[nodiscard]] std::vector<std::byte> dictionary_tables() const;

  zstd_frame_header frame_;
  zstd_text text_;
  zstd_offsets offsets_ = zstd_first_offsets;
  zstd_known_tables tables_;
  // the buffer in which libzstd would decode: where it turns decides how much text damaged blocks can refer to
  std::size_t ring_bytes_ = 0;
  std::size_t ring_at_ = 0;
  std::size_t turn_ = 0;
};

}  // namespace gpuhist::io
