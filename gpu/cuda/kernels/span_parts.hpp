// A span of any alignment and size as kernels walk it: a head of single bytes, 16-byte vectors, a tail; and how many
// blocks it is spread over.
#pragma once

#include "gpu/cuda/kernels/host_device.hpp"

#include <cstdint>

namespace gpuhist::gpu::cuda::kernels {

inline constexpr unsigned vector_bytes = 16;

/// Vectors begin at a multiple of a cache line, so that a warp's 512 bytes are four lines and never five.
inline constexpr unsigned line_bytes = 128;

/// Bytes [0, head) are single, then come `vectors` of 16 bytes, then `tail` single ones.
struct span_parts {
  std::uint64_t vectors = 0;
  unsigned head = 0;  ///< under line_bytes
  unsigned tail = 0;  ///< under vector_bytes

  /// Where the tail begins.
  [[nodiscard]] GPUHIST_HOST_DEVICE constexpr std::uint64_t tail_begin() const { return head + vectors * vector_bytes; }
};

/// Divides a span that begins at `address`.
GPUHIST_HOST_DEVICE constexpr span_parts divide_span(std::uint64_t address, std::uint64_t size) {
  const std::uint64_t to_line = (line_bytes - address % line_bytes) % line_bytes;
  const std::uint64_t head = to_line < size ? to_line : size;
  const std::uint64_t rest = size - head;
  return {.vectors = rest / vector_bytes,
          .head = static_cast<unsigned>(head),
          .tail = static_cast<unsigned>(rest % vector_bytes)};
}

GPUHIST_HOST_DEVICE constexpr std::uint64_t divide_up(std::uint64_t what, std::uint64_t by) {
  return what / by + (what % by != 0 ? 1 : 0);
}

/// A block's counters have 32 bits: none is given more than about this many bytes, so that none of them, nor the sum of
/// its copies, can overflow. On a real device this is far above its memory over its blocks.
inline constexpr std::uint64_t max_bytes_per_block = std::uint64_t{1} << 31U;

/// Blocks for a span: as many as are resident at once, fewer where each would get less than `min_bytes`, more where
/// each would get more than max_bytes_per_block. At least one.
constexpr std::uint64_t blocks_for(std::uint64_t size, std::uint64_t resident, std::uint64_t min_bytes) {
  const std::uint64_t useful = divide_up(size, min_bytes);
  const std::uint64_t needed = divide_up(size, max_bytes_per_block);
  const std::uint64_t wanted = useful < resident ? useful : resident;
  const std::uint64_t blocks = wanted < needed ? needed : wanted;
  return blocks == 0 ? 1 : blocks;
}

}  // namespace gpuhist::gpu::cuda::kernels
