// Histograms of samples in device memory, without CUDA's types. Two implementations: device_calls.cpp calls
// gpuhist/device_samples.hpp, device_calls_absent.cpp is for builds without CUDA and throws.
#pragma once

#include <gpuhist/samples.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "array_view.hpp"

namespace gpuhist::python {

/// Throws errc::engine in builds without CUDA.
void check_device_support();

/// The bins of one or two axes. Copies of sample_bins share their tables.
struct device_bins {
  sample_bins x;
  unsigned channels = 1;
  std::optional<sample_bins> y{};
};

/// Values of all rows, and bytes of the workspace; 0 bytes for bins that do not fit together.
struct device_sizes {
  std::size_t values = 0;
  std::size_t workspace = 0;
};
[[nodiscard]] device_sizes sizes_of(const device_bins& bins);

/// Where kernels run: a device of CUDA, and one of its streams. Streams are the integers of DLPack: 1 is the legacy
/// default stream, 2 the default stream of the thread, others are addresses.
struct device_stream {
  int device = 0;
  std::uintptr_t stream = 1;
};

/// Memory of the device, owned by the caller. Rows are zero before the first call.
struct device_memory {
  std::uintptr_t rows = 0;       ///< `values` counters of 64 bits, or doubles for weights
  std::uintptr_t workspace = 0;  ///< aligned to 256
};

/// Samples of the histogram, in memory of the device.
struct device_samples {
  array_view x;
  std::optional<array_view> y{};
  std::optional<array_view> weights{};
};

/// Prepares the workspace and queues the counting of `samples`, or the addition of their weights, on a stream. Does not
/// wait. The device is current during the call only. Throws errc::engine if CUDA fails, with the name and text of its
/// error, if the stream is being captured into a graph, and in builds without CUDA.
void count_on_device(const device_bins& bins, const device_samples& samples, const device_memory& memory,
                     device_stream where);

/// Waits until the work that was queued on the stream has ended. Throws as count_on_device.
void wait_for(device_stream where);

}  // namespace gpuhist::python
