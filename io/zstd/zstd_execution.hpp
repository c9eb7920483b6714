// Makes text of the plans of zstd blocks, in order, and keeps as much of it as matches can refer to.
#pragma once

#include "io/zstd/zstd_sequences.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace gpuhist::io {

/// The last text of a frame: a ring with room for its window and two more blocks: the one before the turn may leave
/// room for almost one, and a block that fails must not damage the text in the window.
///
///     | text since the last turn |  room for a block  | text before it |
///     0                          at_                                   turn_
class zstd_window {
 public:
  /// The memory in bytes.
  static std::size_t memory_for(std::uint64_t window_bytes);

  /// Begins a frame. Allocates memory if the last one does not suffice. Throws std::bad_alloc.
  void begin(std::uint64_t window_bytes);

  void free_memory() noexcept { memory_ = nullptr; }

  /// The text of a block, valid until the next call. `offsets`: before the block; then those after it. Nothing: a match
  /// is longer ago than the window or the text; then the window is as before.
  std::optional<std::span<const std::byte>> execute(const zstd_block_plan& block, zstd_offsets& offsets);

  /// Room for the text of a block that is no compressed one, at most 128 KiB, to be added as it is filled.
  [[nodiscard]] std::span<std::byte> room();
  void add(std::size_t bytes);

  /// The text that matches can refer to, in two pieces.
  [[nodiscard]] std::array<std::span<const std::byte>, 2> text() const;

 private:
  std::byte* next_place();
  std::byte* copy_far(std::byte* to, const zstd_sequence& sequence, const zstd_offsets& offsets) const;

  std::unique_ptr<std::byte[]> memory_;
  std::size_t size_ = 0;
  std::uint64_t window_bytes_ = 0;
  std::size_t at_ = 0;
  std::size_t turn_ = 0;          // 0: no turn yet
  std::uint64_t text_bytes_ = 0;  // of the frame
};

}  // namespace gpuhist::io
