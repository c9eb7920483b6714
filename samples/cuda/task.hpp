// The arguments of the kernels that count samples: plain values with pointers to device memory.
#pragma once

#include "gpuhist/samples.hpp"
#include "samples/cuda/tuning.hpp"
#include "samples/quick_binning.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace gpuhist::gpu::cuda::samples {

using gpu::samples::binning;
using gpu::samples::quick_binning;

/// Elements (samples or weights) in device memory, read four at a time.
struct element_source {
  const std::byte* data = nullptr;
  std::int64_t stride = 0;   ///< bytes from frame to frame
  std::uint64_t count = 0;   ///< elements: frames x channels
  std::uint64_t groups = 0;  ///< whole groups of four elements, after the head
  std::uint32_t head = 0;    ///< elements before the first group
  std::uint32_t channels = 1;
  std::uint32_t size = 1;  ///< bytes of an element
  std::uint32_t type = 0;  ///< sample_type or weight_type
  bool wide = false;       ///< adjacent and aligned: a group is read by one load (8-byte elements: two)
};

template <class Carrier>
struct sample_task {
  binning<Carrier> x;
  quick_binning<Carrier> quick;  ///< of x: of bins, or of the cells of its guide
  binning<Carrier> y;            ///< joint
  quick_binning<Carrier> y_quick;
  element_source samples;
  element_source y_samples;  ///< joint; data is null otherwise
  unsigned long long* rows = nullptr;
  std::uint32_t row = 0;     ///< values of a row
  std::uint32_t values = 0;  ///< of all rows
  sample_tuning tuning;
  bool tables_in_shared = false;
  std::uint32_t first_value = 0;  ///< of the pass
  std::uint32_t pass_values = 0;
};

/// Whether a kernel for frequent histograms of this type can be used (kernel_kind).
template <class Carrier>
bool is_frequent(const sample_task<Carrier>& task, sample_type type) {
  const element_source& samples = task.samples;
  return samples.type == static_cast<std::uint32_t>(type) && samples.wide && samples.channels != 3 &&
         task.y_samples.data == nullptr;
}

/// The same for joint histograms: of adjacent, aligned samples of both axes, which are read in groups of four together.
template <class Carrier>
bool is_frequent_pair(const sample_task<Carrier>& task, sample_type type) {
  const element_source& x = task.samples;
  const element_source& y = task.y_samples;
  return x.type == static_cast<std::uint32_t>(type) && y.data != nullptr && x.wide && y.wide && x.head == y.head &&
         task.x.tables.guide == nullptr && task.y.tables.guide == nullptr;
}

struct weight_task {
  element_source weights;
  bool by_frame = false;                  ///< one weight for all samples of a frame
  bool grouped = false;                   ///< the groups of weights are those of the samples
  double limit = 0;                       ///< 0: read from `largest`
  std::uint32_t count_bits = 0;           ///< samples are fewer than 2^count_bits, or as many
  unsigned long long* largest = nullptr;  ///< bits of the largest finite |weight| as a double
  unsigned long long* sums = nullptr;     ///< one for each value
  std::uint32_t* flags = nullptr;  ///< two bits for each value: a weight that is +infinity, -infinity; both for NaN
  double* rows = nullptr;
};

/// Bytes of the words of flags.
constexpr std::size_t flag_bytes(std::size_t values) { return (values * 2 + 31) / 32 * sizeof(std::uint32_t); }

/// Bytes of the tables of an axis in shared memory.
template <class Carrier>
std::size_t table_bytes(const binning<Carrier>& in) {
  if (in.tables.guide == nullptr) return 0;
  const auto even = [](std::size_t count) { return (count + 1) / 2 * 2; };  // 8 bytes
  return even(in.limit) * sizeof(in.low) + even(static_cast<std::size_t>(in.steps) + 2) * sizeof(std::uint32_t);
}

struct launch_device {
  int multiprocessors = 1;
  std::size_t shared_bytes = 0;
};

template <class Carrier>
cudaError_t launch_count(const sample_task<Carrier>& task, const launch_device& device, cudaStream_t stream);

template <class Carrier>
cudaError_t launch_sum(const sample_task<Carrier>& task, const weight_task& weights, const launch_device& device,
                       cudaStream_t stream);

}  // namespace gpuhist::gpu::cuda::samples
