// The number of bytes per thread, for strategies in which it is a parameter.
#pragma once

#include "bench/kernels/catalogue.hpp"
#include "gpu/cuda/kernels/aligned_span.hpp"

#include <cstdint>

namespace gpuhist::bench::kernels {

inline constexpr unsigned coarsened_threads = 1024;
inline constexpr unsigned default_coarsening = 64;

/// With a larger factor, the 32-bit counters of a block could overflow: 1024 threads of 2^21 bytes are 2^31.
inline constexpr unsigned max_coarsening = 1U << 21U;

inline unsigned coarsening_of(const span_launch& launch) {
  return launch.coarsening == 0 ? default_coarsening : launch.coarsening;
}

inline std::uint64_t coarsened_blocks(const span_launch& launch) {
  return gpu::cuda::kernels::divide_up(launch.size, std::uint64_t{coarsened_threads} * coarsening_of(launch));
}

}  // namespace gpuhist::bench::kernels
