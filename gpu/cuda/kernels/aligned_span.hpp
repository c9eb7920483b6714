// Divides a span of any alignment and size for kernels: a head of single bytes, 16-byte vectors, and a tail of single
// bytes. Computes the number of blocks for a span.
#pragma once

#include "gpu/host_device.hpp"

#include <cstdint>

namespace gpuhist::gpu::cuda::kernels {

inline constexpr unsigned vector_bytes = 16;

/// Vectors begin at a multiple of a cache line, so that the 512 bytes of a warp are in four lines and never in five.
inline constexpr unsigned line_bytes = 128;

/// `head` single bytes, then `vectors` vectors of 16 bytes, then `tail` single bytes.
struct aligned_span {
  std::uint64_t vectors = 0;
  unsigned head = 0;  ///< under line_bytes
  unsigned tail = 0;  ///< under vector_bytes

  /// Where the tail begins.
  [[nodiscard]] GPUHIST_HOST_DEVICE constexpr std::uint64_t tail_begin() const { return head + vectors * vector_bytes; }
};

/// Divides a span that begins at `address`.
GPUHIST_HOST_DEVICE constexpr aligned_span divide_span(std::uint64_t address, std::uint64_t size) {
  const std::uint64_t to_line = (line_bytes - address % line_bytes) % line_bytes;
  const std::uint64_t head = to_line < size ? to_line : size;
  const std::uint64_t rest = size - head;
  return {.vectors = rest / vector_bytes,
          .head = static_cast<unsigned>(head),
          .tail = static_cast<unsigned>(rest % vector_bytes)};
}

GPUHIST_HOST_DEVICE constexpr std::uint64_t divide_up(std::uint64_t dividend, std::uint64_t divisor) {
  return dividend / divisor + (dividend % divisor != 0 ? 1 : 0);
}

/// The counters of a block have 32 bits. A block counts at most about this many bytes, so that no counter and no sum of
/// its copies can overflow. On real devices, memory divided by blocks is far less.
inline constexpr std::uint64_t max_bytes_per_block = std::uint64_t{1} << 31U;

/// Number of blocks for a span: `resident`, fewer if each block would have less than `min_bytes`, more if each block
/// would have more than max_bytes_per_block. At least one.
constexpr std::uint64_t blocks_for(std::uint64_t size, std::uint64_t resident, std::uint64_t min_bytes) {
  const std::uint64_t useful = divide_up(size, min_bytes);
  const std::uint64_t needed = divide_up(size, max_bytes_per_block);
  const std::uint64_t wanted = useful < resident ? useful : resident;
  const std::uint64_t blocks = wanted < needed ? needed : wanted;
  return blocks == 0 ? 1 : blocks;
}

}  // namespace gpuhist::gpu::cuda::kernels
