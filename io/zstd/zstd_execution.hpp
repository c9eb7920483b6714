// Makes text of the plans of zstd blocks, in order, and keeps as much of it as later blocks can refer to.
#pragma once

#include "io/part_memory.hpp"
#include "io/zstd/zstd_sequences.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace gpuhist::io {

inline constexpr std::size_t zstd_largest_chunk = std::size_t{16} << 20U;

/// The last text of a frame, in chunks of memory. A chunk begins with a copy of the text before it, so that most
/// matches lie within their chunk.
///
///     | text of blocks ......... |
///                     | copied   | text of blocks ... |
///                                             | copied | text of blocks, room for more |
///
/// A copy has the same text in the same memory, and text is added to one copy only; to another one, after fork().
/// Another thread may read the text of any copy meanwhile.
class zstd_text {
 public:
  /// Begins a frame. `kept_bytes`: the last text to keep, at least as much as the window.
  void begin(std::uint64_t window_bytes, std::uint64_t kept_bytes);

  /// The text of a block, valid as long as a copy keeps it. `offsets`: before the block; then those after it. Nothing:
  /// a match is longer ago than the window or the text; then nothing changes. Throws std::bad_alloc.
  std::optional<std::span<const std::byte>> execute(const zstd_block_plan& block, zstd_offsets& offsets);

  /// Text that is added has memory of its own.
  void fork() { is_full_ = true; }

  /// Of the frame.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

  /// The last `count` bytes before the last `left_out`; zeros for text that is not kept.
  void put(std::vector<std::byte>& to, std::size_t count, std::size_t left_out) const;

 private:
  struct chunk {
    std::shared_ptr<std::byte[]> memory;
    std::size_t copied = 0;
    std::size_t used = 0;  // `copied` included

    [[nodiscard]] std::size_t text_bytes() const { return used - copied; }
  };

  std::byte* next_place();
  void add_chunk();
  std::byte* copy_far(std::byte* to, const zstd_sequence& sequence, const zstd_offsets& offsets) const;

  std::deque<chunk> chunks_;  // the latest last
  std::uint64_t window_bytes_ = 0;
  std::uint64_t kept_bytes_ = 0;
  std::size_t chunk_bytes_ = 0;
  std::uint64_t bytes_ = 0;
  bool is_full_ = true;  // the last chunk
};

}  // namespace gpuhist::io
