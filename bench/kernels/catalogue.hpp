// The catalogue of counting strategies: everything that texts on GPU histograms teach, each in a file of its own behind
// one interface, so that one contract suite checks them all and one benchmark compares them. The engine uses
// `lane_private`; the others are here to be measured against.
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

/// One strategy. `launch` only queues work on the stream: no synchronization, no allocation; thread-safe.
struct strategy {
  std::string_view name;      ///< "lane_private"
  std::string_view overview;  ///< one line for tables
  bool counts_letters = true;
  bool counts_bytes = true;
  bool has_coarsening = false;
  std::size_t (*scratch_bytes)(bins what, int multiprocessors) = nullptr;  ///< null: none
  cudaError_t (*launch)(const span_launch& launch, cudaStream_t stream) = nullptr;

  [[nodiscard]] bool applies_to(bins what) const { return what == bins::letters ? counts_letters : counts_bytes; }
};

/// In the order in which the ladder climbs: slowest first.
std::span<const strategy> catalogue();

/// By name, or null.
const strategy* find_strategy(std::string_view name);

/// Not in the table and not to be forced by name: lane_private with other tunings, for a benchmark to compare.
std::span<const strategy> lane_private_variants();

}  // namespace gpuhist::bench::kernels
