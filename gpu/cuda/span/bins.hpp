// The two histograms that a kernel for one span can count: letters (8 bins) or byte values (256 bins).
#pragma once

#include "gpu/host_device.hpp"

#include <cstddef>
#include <cstdint>

namespace gpuhist::gpu::cuda::kernels {

/// The histogram that a kernel counts.
enum class bins {
  letters,  ///< 8 bins: a-d e-h i-l m-p q-t u-x y-z (lower case), and all other bytes
  bytes,    ///< 256 bins: one for each byte value
};

inline constexpr std::size_t max_bins = 256;

/// The number of counters.
GPUHIST_HOST_DEVICE constexpr std::size_t count_of(bins counted) { return counted == bins::letters ? 8 : 256; }

/// The last bin of the letters: all bytes that are not lower-case letters.
inline constexpr unsigned other_bucket = 7;

/// The counter of a byte, 0 to count_of(Counted) - 1.
template <bins Counted>
GPUHIST_HOST_DEVICE constexpr unsigned bucket_of(std::uint8_t byte) {
  if constexpr (Counted == bins::bytes) {
    return byte;
  } else {
    const unsigned letter = byte - static_cast<unsigned>('a');  // wraps for bytes below 'a'
    return letter < 26U ? letter / 4U : other_bucket;
  }
}

}  // namespace gpuhist::gpu::cuda::kernels
