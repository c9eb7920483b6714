// Where lane_private's counters lie, and in which order a block reads them when it folds: plain arithmetic, tested on
// the host.
//
//                  bank 0     bank 1     bank 2          bank 31
//     value 0x00   copy 0     copy 1     copy 2    ...   copy 31     128 bytes a value,
//     value 0x01   copy 0     copy 1     copy 2    ...   copy 31     or 256 where there are 64 copies:
//        ...                                                         copy 32 in bank 0 again, and so on
//     value 0xff   copy 0     copy 1     copy 2    ...   copy 31
//                  lane 0     lane 1     lane 2          lane 31     of every warp (with 64: of every second)
//
// Copy l of every counter lies in bank l modulo 32, so the 32 lanes of a warp always add in 32 different banks,
// whatever their bytes are.
#pragma once

#include "gpu/cuda/kernels/host_device.hpp"

#include <cstdint>

namespace gpuhist::gpu::cuda::kernels {

inline constexpr unsigned byte_values = 256;

/// The layout for 32 or 64 copies. Offsets are in bytes from the first counter.
template <unsigned Copies>
struct lane_layout {
  static_assert(Copies == 32 || Copies == 64);

  static constexpr unsigned bytes_per_value = Copies * sizeof(std::uint32_t);
  static constexpr unsigned bytes = byte_values * bytes_per_value;

  /// The offset of a thread's copy of counter 0: what is added to every offset of its bytes.
  static GPUHIST_HOST_DEVICE constexpr std::uint32_t lane_offset(unsigned thread) {
    return thread % Copies * static_cast<unsigned>(sizeof(std::uint32_t));
  }

  /// The offset of the counter of byte `Byte` of a word. With 64 copies a value's counters are 256 bytes, so the byte
  /// and the lane's offset stand side by side in the sum, and putting them there is one PRMT; with 32 it takes a shift
  /// and a LOP3.
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

/// How a block of `Threads` reads the copies back, 16 bytes a load. `threads_per_value` neighbouring threads share one
/// value's counters; each takes its chunks of 16 bytes in an order that differs between neighbouring values, so that
/// the eight threads that are served at a time read from all 32 banks.
template <unsigned Copies, unsigned Threads>
struct fold_layout {
  static_assert(Threads % byte_values == 0 && Threads / byte_values <= 8);

  static constexpr unsigned threads_per_value = Threads / byte_values;
  static constexpr unsigned chunks_per_value = Copies / 4;
  static constexpr unsigned chunks_per_thread = chunks_per_value / threads_per_value;

  static GPUHIST_HOST_DEVICE constexpr unsigned value(unsigned thread) { return thread / threads_per_value; }

  /// The chunk (16 bytes, counted from the first counter) that a thread reads in its step-th load.
  static GPUHIST_HOST_DEVICE constexpr unsigned chunk(unsigned thread, unsigned step) {
    const unsigned turned = (step + value(thread)) % chunks_per_thread;
    return value(thread) * chunks_per_value + turned * threads_per_value + thread % threads_per_value;
  }
};

}  // namespace gpuhist::gpu::cuda::kernels
