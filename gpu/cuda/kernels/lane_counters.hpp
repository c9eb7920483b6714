// The layout of the counters of lane_private, and the order in which a block reads them for the fold. Plain arithmetic,
// tested on the host.
//
//                  bank 0     bank 1     bank 2          bank 31
//     value 0x00   copy 0     copy 1     copy 2    ...   copy 31     128 bytes per value,
//     value 0x01   copy 0     copy 1     copy 2    ...   copy 31     or 256 with 64 copies:
//        ...                                                         copy 32 in bank 0 again, and so on
//     value 0xff   copy 0     copy 1     copy 2    ...   copy 31
//                  lane 0     lane 1     lane 2          lane 31     of every warp (64 copies: of every second)
//
// Copy l of every counter is in bank l modulo 32, so the 32 lanes of a warp always add in 32 different banks, whatever
// their bytes are.
#pragma once

#include "gpu/host_device.hpp"

#include <cstdint>

namespace gpuhist::gpu::cuda::kernels {

inline constexpr unsigned byte_values = 256;

/// The layout for 32 or 64 copies. Offsets are in bytes from the first counter.
template <unsigned Copies>
struct lane_layout {
  static_assert(Copies == 32 || Copies == 64);

  static constexpr unsigned bytes_per_value = Copies * sizeof(std::uint32_t);
  static constexpr unsigned bytes = byte_values * bytes_per_value;

  /// The offset of the copy of a thread of counter 0. It is added to the offset of every byte.
  static GPUHIST_HOST_DEVICE constexpr std::uint32_t lane_offset(unsigned thread) {
    return thread % Copies * static_cast<unsigned>(sizeof(std::uint32_t));
  }

  /// The offset of the counter of byte `Byte` of a word. With 64 copies the counters of a value are 256 bytes, so the
  /// offset is the byte followed by the 8 bits of the lane offset, which one PRMT combines. With 32 copies it takes a
  /// shift and a LOP3.
  template <unsigned Byte>
  static GPUHIST_HOST_DEVICE std::uint32_t counter_offset(std::uint32_t word, std::uint32_t lane_offset) {
    if constexpr (Copies == 64) {
#if defined(__CUDA_ARCH__)
      return __byte_perm(word, lane_offset, 0x5504U | Byte << 4U);
#else
      return (word >> 8U * Byte & 0xffU) << 8U | lane_offset;
#endif
    } else {
      constexpr int shift = 8 * static_cast<int>(Byte) - 7;
      const std::uint32_t moved = shift < 0 ? word << 7U : word >> (shift < 0 ? 0 : shift);
      return (moved & 0x7f80U) | lane_offset;
    }
  }
};

/// How a block of `Threads` threads reads the copies, 16 bytes per load (a vector). `threads_per_value` neighbouring
/// threads share the counters of one value. Neighbouring values are read in different orders, so that the eight threads
/// that are served at the same time read from all 32 banks.
template <unsigned Copies, unsigned Threads>
struct fold_layout {
  static_assert(Threads % byte_values == 0 && Threads / byte_values <= 8);

  static constexpr unsigned threads_per_value = Threads / byte_values;
  static constexpr unsigned vectors_per_value = Copies / 4;
  static constexpr unsigned vectors_per_thread = vectors_per_value / threads_per_value;

  static GPUHIST_HOST_DEVICE constexpr unsigned value(unsigned thread) { return thread / threads_per_value; }

  /// The number of the vector (16 bytes, from the first counter) that a thread reads in its step-th load.
  static GPUHIST_HOST_DEVICE constexpr unsigned vector(unsigned thread, unsigned step) {
    const unsigned turned = (step + value(thread)) % vectors_per_thread;
    return value(thread) * vectors_per_value + turned * threads_per_value + thread % threads_per_value;
  }
};

}  // namespace gpuhist::gpu::cuda::kernels
