// What a strategy counts, and the bucket of one byte in the words of the textbooks.
#pragma once

#include "gpu/cuda/kernels/host_device.hpp"

#include <cstddef>
#include <cstdint>

namespace gpuhist::gpu::cuda::kernels {

/// What a strategy counts.
enum class bins {
  letters,  ///< 8: a-d e-h i-l m-p q-t u-x y-z (lower case), and what is none of these
  bytes,    ///< 256: each byte value its own
};

inline constexpr std::size_t max_bins = 256;

/// How many counters there are.
GPUHIST_HOST_DEVICE constexpr std::size_t count_of(bins what) { return what == bins::letters ? 8 : 256; }

/// The last of the letters' buckets: what is no lower-case letter.
inline constexpr unsigned other_bucket = 7;

/// The counter a byte belongs to, 0 to count_of(What) - 1.
template <bins What>
GPUHIST_HOST_DEVICE constexpr unsigned bucket_of(std::uint8_t byte) {
  if constexpr (What == bins::bytes) {
    return byte;
  } else {
    const unsigned letter = byte - static_cast<unsigned>('a');  // wraps for what lies below 'a'
    return letter < 26U ? letter / 4U : other_bucket;
  }
}

}  // namespace gpuhist::gpu::cuda::kernels
