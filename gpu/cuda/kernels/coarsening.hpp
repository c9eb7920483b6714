// How many bytes one thread counts where that is a parameter.
#pragma once

#include "gpu/cuda/kernels/catalogue.hpp"
#include "gpu/cuda/kernels/span_parts.hpp"

#include <cstdint>

namespace gpuhist::gpu::cuda::kernels {

inline constexpr unsigned coarsened_threads = 1024;
inline constexpr unsigned default_coarsening = 64;

/// Above it, the 32-bit counters of a block could overflow: 1024 threads of 2^21 bytes are 2^31.
inline constexpr unsigned max_coarsening = 1U << 21U;

inline unsigned coarsening_of(const span_launch& what) {
  return what.coarsening == 0 ? default_coarsening : what.coarsening;
}

inline std::uint64_t coarsened_blocks(const span_launch& what) {
  return divide_up(what.size, std::uint64_t{coarsened_threads} * coarsening_of(what));
}

}  // namespace gpuhist::gpu::cuda::kernels
