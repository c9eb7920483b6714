// gpuhist-bench samples: histograms of samples in device memory, relative to reading the same memory only, beside CUB.
#pragma once

#include "bench/contender.hpp"
#include "gpuhist/samples.hpp"

#include <cstdint>
#include <optional>

namespace gpuhist::bench {

/// Measures and prints to standard output. Returns whether all counts were right. Throws std::runtime_error.
bool measure_samples(const machine& on);

/// A histogram that is measured.
struct sample_shape {
  const char* name;
  sample_type type;  ///< int32 or float32
  std::uint32_t bins;
  std::uint32_t y_bins = 0;  ///< not 0: a joint histogram of two arrays
  unsigned channels = 1;
  bool edges = false;     ///< given edges that are not even; float32
  bool weighted = false;  ///< by as many float32 weights
  double limit = 0;       ///< of the weights; 0: a pass finds it
};

/// Even bins have this range.
struct sample_range {
  double lower;
  double upper;
};

/// The edges of a shape with given edges.
std::vector<float> uneven_edges(std::uint32_t bins, const sample_range& range);

/// CUB's DeviceHistogram for the shape, or a null pointer if it has no such histogram. Its counts are not compared: it
/// assigns samples at edges by other rules.
std::unique_ptr<contender> cub_samples(const sample_shape& shape, const sample_range& range, std::uint64_t bytes);

}  // namespace gpuhist::bench
