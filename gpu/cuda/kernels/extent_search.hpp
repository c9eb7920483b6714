// The search for the extents of a part of a chunk. Tested on the host.
#pragma once

#include "gpu/engine.hpp"
#include "gpu/host_device.hpp"

#include <cstdint>

namespace gpuhist::gpu::cuda::kernels {

/// The number of the first extent that ends after `at`; `count` if there is none. Extents are sorted and disjoint, so
/// their ends are sorted.
inline GPUHIST_HOST_DEVICE std::uint32_t first_extent_after(const extent* extents, std::uint32_t count,
                                                            std::uint32_t at) {
  std::uint32_t low = 0;
  std::uint32_t high = count;
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (extents[middle].end <= at) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace gpuhist::gpu::cuda::kernels
