// The catalogue of counting strategies: the histogram kernels of the textbooks, one file each, with one interface, so
// that one contract suite checks all of them and one benchmark compares them. The CUDA engine uses only lane_private;
// the others are references for measurements.
#pragma once

#include "gpu/cuda/span/bins.hpp"
#include "gpu/cuda/span/lane_private_span.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace gpuhist::bench::kernels {

using gpu::cuda::kernels::bins;
using gpu::cuda::kernels::bucket_of;
using gpu::cuda::kernels::count_of;
using gpu::cuda::kernels::span_launch;

/// One strategy. `launch` only queues work on the stream: it does not synchronize and does not allocate. Thread-safe.
struct strategy {
  std::string_view name;      ///< "lane_private"
  std::string_view overview;  ///< one line
  bool counts_letters = true;
  bool counts_bytes = true;
  bool has_coarsening = false;
  std::size_t (*scratch_bytes)(bins counted, int multiprocessors) = nullptr;  ///< null: none
  cudaError_t (*launch)(const span_launch& launch, cudaStream_t stream) = nullptr;

  [[nodiscard]] bool applies_to(bins counted) const { return counted == bins::letters ? counts_letters : counts_bytes; }
};

/// All strategies, slowest first.
std::span<const strategy> catalogue();

/// The strategy of this name, or null.
const strategy* find_strategy(std::string_view name);

/// lane_private with other tunings, for comparison in a benchmark. They are not in the catalogue and find_strategy does
/// not find them.
std::span<const strategy> lane_private_variants();

}  // namespace gpuhist::bench::kernels
