// Lanes that measure a tile together. The code is written for any number of lanes; on the host it runs with one, so
// that the same code runs under the sanitizers and the fuzzers.
#pragma once

#include "gpu/host_device.hpp"

#include <cstdint>

namespace gpuhist::gpu::cuda::units {

// NOLINTBEGIN(readability-convert-member-functions-to-static): as the members of warp_lanes
/// The lane of the host. All lanes call a member together, except rank().
struct one_lane {
  static constexpr unsigned size = 1;

  GPUHIST_HOST_DEVICE unsigned rank() const { return 0; }
  /// Of all lanes.
  GPUHIST_HOST_DEVICE std::uint32_t sum(std::uint32_t value) const { return value; }
  /// Of the lanes of lower rank.
  GPUHIST_HOST_DEVICE std::uint32_t sum_before(std::uint32_t) const { return 0; }
  /// The value of a lane.
  GPUHIST_HOST_DEVICE std::uint32_t from(std::uint32_t value, unsigned) const { return value; }
  /// Bit i is set if it is true in lane i.
  GPUHIST_HOST_DEVICE std::uint32_t lanes_with(bool is) const { return is ? 1 : 0; }
  /// What lanes have read and written before comes before what others read and write after it.
  GPUHIST_HOST_DEVICE void synchronize() const {}
};
// NOLINTEND(readability-convert-member-functions-to-static)

#if defined(__CUDACC__)
/// A warp whose threads have consecutive numbers in their block.
struct warp_lanes {
  static constexpr unsigned size = 32;

  __device__ unsigned rank() const { return threadIdx.x % size; }
  __device__ std::uint32_t sum(std::uint32_t value) const {
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(all, value);
#else
#pragma unroll
    for (unsigned distance = size / 2; distance > 0; distance /= 2) {
      value += __shfl_xor_sync(all, value, static_cast<int>(distance));
    }
    return value;
#endif
  }
  __device__ std::uint32_t sum_before(std::uint32_t value) const {
    std::uint32_t sum = value;
#pragma unroll
    for (unsigned distance = 1; distance < size; distance *= 2) {
      // the shuffle finds out whether there is such a lane, which saves a selection
      asm volatile(
          "{\n\t"
          ".reg .u32 other;\n\t"
          ".reg .pred exists;\n\t"
          "shfl.sync.up.b32 other|exists, %0, %1, 0, 0xffffffff;\n\t"
          "@exists add.u32 %0, %0, other;\n\t"
          "}"
          : "+r"(sum)
          : "r"(distance));
    }
    return sum - value;
  }
  __device__ std::uint32_t from(std::uint32_t value, unsigned lane) const {
    return __shfl_sync(all, value, static_cast<int>(lane));
  }
  __device__ std::uint32_t lanes_with(bool is) const { return __ballot_sync(all, is ? 1 : 0); }
  __device__ void synchronize() const { __syncwarp(all); }

 private:
  static constexpr unsigned all = 0xffffffffU;
};
#endif

}  // namespace gpuhist::gpu::cuda::units
