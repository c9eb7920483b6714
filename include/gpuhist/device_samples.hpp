// Histograms of samples in device memory, with the results of gpuhist/samples.hpp. Only in builds with CUDA. The caller
// needs the headers of the CUDA runtime.
//
// The calls count on the caller's stream and do not wait. They allocate nothing: the caller asks for the size of a
// workspace, allocates it, and prepares it once for its bins. Later calls launch kernels only, so a stream can be
// captured into a graph.
#pragma once

#include <gpuhist/api.hpp>
#include <gpuhist/samples.hpp>

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>

namespace gpuhist {

/// The histograms for which a workspace is made. The bins must exist until the last call.
struct device_histogram {
  const sample_bins& bins;
  const sample_bins* y_bins = nullptr;  ///< of the second axis of a joint histogram; its type is that of `bins`
  unsigned channels = 1;                ///< 1 to 4; 1 for a joint histogram

  /// Values of all rows.
  [[nodiscard]] std::size_t values() const noexcept {
    if (y_bins != nullptr) return std::size_t{bins.bins()} * y_bins->bins() + 2;
    return channels * bins.row_size();
  }
};

/// Bytes of the workspace, at most 20 MiB for one axis with 2^20 bins and one channel; 0 for invalid arguments.
[[nodiscard]] GPUHIST_API std::size_t workspace_bytes(const device_histogram& histogram) noexcept;

/// Copies the tables of the bins to `workspace`, on `stream`: device memory of workspace_bytes(), aligned to 256 (as
/// cudaMalloc does). Not while a stream is captured. The workspace can then be used by any number of calls; weighted
/// calls with the same workspace must be ordered, for example by using one stream.
[[nodiscard]] GPUHIST_API cudaError_t prepare_workspace(const device_histogram& histogram, void* workspace,
                                                        cudaStream_t stream) noexcept;

/// Queues the counting of `samples` (device memory; channels as the histogram) and adds the counts to `rows`:
/// histogram.values() counters of 64 bits in device memory, as in count_samples. The caller keeps all memory valid and
/// unchanged until the kernels have finished. `y` are the samples of the second axis of a joint histogram.
///
/// May be called from any thread, with the device of the stream current, and while the stream is captured. Returns the
/// error of a launch, or cudaErrorInvalidValue for arguments that do not fit together.
[[nodiscard]] GPUHIST_API cudaError_t count_device_samples(const device_histogram& histogram,
                                                           const sample_view& samples, unsigned long long* rows,
                                                           void* workspace, cudaStream_t stream,
                                                           const sample_view& y = {}) noexcept;

struct device_weights {
  weight_view view;  ///< of device memory

  /// An upper bound of all |weights|, which saves a pass over them; 0: the pass finds it. The sum of a bin with a
  /// larger weight is NaN. Not used for int32.
  double limit = 0;
};

/// Queues the addition of the sums of weights to `rows`, as sum_samples and count_device_samples.
///
/// Sums are accumulated in integers of 64 bits, so they have the same bits in every run, for every device. If all
/// finite |weights| are below 2^e and there are at most 2^b samples, a weight is rounded to a multiple of 2^(e + b -
/// 62); int32 is exact. The sum of a bin is rounded once, to double. The sum of a bin with an infinite weight or NaN is
/// that of IEEE 754.
[[nodiscard]] GPUHIST_API cudaError_t sum_device_samples(const device_histogram& histogram, const sample_view& samples,
                                                         const device_weights& weights, double* rows, void* workspace,
                                                         cudaStream_t stream, const sample_view& y = {}) noexcept;

/// How a device of this compute capability counts a histogram: one line, for example "32 copies of the counters in
/// shared memory, ...". For any machine.
[[nodiscard]] GPUHIST_API std::string describe_tuning(const device_histogram& histogram, bool weighted,
                                                      int compute_major, int compute_minor);

}  // namespace gpuhist
