// The layout of the counters of pair_private. Plain arithmetic, tested on the host.
//
// A table in shared memory gives the class of a byte as an *entry*: the offset of the class in a row of counters, plus
// the offset of the lane's copy. One multiplication and addition of two entries is the offset of the counter of a pair:
//
//     entry(class, lane)   = class * 4 * copies + 4 * lane
//     offset(first, second) = entry(first) * stride + entry(second)
//                           = 4 * copies * (first * stride + second) + 4 * lane * (stride + 1)
//
// The copies of a counter are stride + 1 words apart. The stride is even, so stride + 1 is odd: the 32 copies of a
// counter are in 32 different banks, and no two counters share a word. So the lanes of a warp never collide if they
// add to the same counter; if they add to different ones, lane l is always in bank l * (stride + 1) modulo 32.
#pragma once

#include "gpu/host_device.hpp"

#include <cstdint>

namespace gpuhist::gpu::cuda::kernels {

/// The layout for `classes` classes. Offsets and sizes are in bytes.
template <unsigned Copies>
struct pair_layout {
  static_assert(Copies == 8 || Copies == 32);

  static constexpr unsigned word = sizeof(std::uint32_t);
  static constexpr unsigned table_bytes = 256 * Copies * word;

  std::uint32_t classes = 0;
  std::uint32_t stride = 0;

  explicit GPUHIST_HOST_DEVICE constexpr pair_layout(std::uint32_t of_classes)
      : classes(of_classes), stride(of_classes + of_classes % 2) {}

  /// The number of pairs of which counters are kept, with the padding of the stride.
  [[nodiscard]] GPUHIST_HOST_DEVICE constexpr std::uint32_t cells() const { return classes * stride; }

  /// All counters.
  [[nodiscard]] GPUHIST_HOST_DEVICE constexpr std::uint32_t counter_bytes() const {
    return (cells() * Copies + (Copies - 1) * (stride + 1)) * word;
  }

  /// Shared memory of a block: the table and the counters.
  [[nodiscard]] GPUHIST_HOST_DEVICE constexpr std::uint32_t shared_bytes() const {
    return table_bytes + counter_bytes();
  }

  /// The copy of a thread.
  static GPUHIST_HOST_DEVICE constexpr std::uint32_t copy(std::uint32_t thread) { return thread % Copies; }

  /// The offset of the entry of a byte value in the table.
  static GPUHIST_HOST_DEVICE constexpr std::uint32_t entry_offset(std::uint32_t value, std::uint32_t copy) {
    return (value * Copies + copy) * word;
  }

  static GPUHIST_HOST_DEVICE constexpr std::uint32_t entry(std::uint32_t of_class, std::uint32_t copy) {
    return (of_class * Copies + copy) * word;
  }

  /// The offset of the counter of a pair, of two entries of one copy.
  [[nodiscard]] GPUHIST_HOST_DEVICE constexpr std::uint32_t offset(std::uint32_t first, std::uint32_t second) const {
    return first * stride + second;
  }

  /// The index of the word with a copy of the counter of a cell: first class * stride + second class.
  [[nodiscard]] GPUHIST_HOST_DEVICE constexpr std::uint32_t counter_word(std::uint32_t cell, std::uint32_t copy) const {
    return cell * Copies + copy * (stride + 1);
  }
};

}  // namespace gpuhist::gpu::cuda::kernels
