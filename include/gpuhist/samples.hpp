// Histograms of samples that are not bytes: integers and floating-point numbers in host memory. See docs/samples.md,
// and gpuhist/device_samples.hpp for device memory.
//
// A row has the bins of one channel, then three counts: samples below the first bin, samples above the last bin, NaN.
#pragma once

#include <gpuhist/api.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace gpuhist {

/// The type of a sample in memory, in native byte order.
enum class sample_type : std::uint8_t {
  uint8,
  int8,
  uint16,
  int32,
  uint32,
  int64,
  float16,   ///< IEEE 754 binary16
  bfloat16,  ///< the upper half of a binary32; binned as the same value in float32
  float32,
  float64,
};

/// Bytes of a sample.
[[nodiscard]] GPUHIST_API std::size_t size_of(sample_type type) noexcept;

enum class weight_type : std::uint8_t { float32, float64, int32 };

/// Bytes of a weight.
[[nodiscard]] GPUHIST_API std::size_t size_of(weight_type type) noexcept;

/// How even bins are made. The results are those of the NumPy call, bit for bit.
enum class even_rule : std::uint8_t {
  numpy,        ///< numpy.histogram(x, bins, (lower, upper)) with bounds that are Python numbers
  numpy_typed,  ///< the same with bounds of the type of x, as NumPy does without `range`: rounds in the type of x
  linspace,     ///< edges of numpy.linspace in float64, samples compared exactly: numpy.histogram2d
};

/// The bins of one axis, for samples of one type. Immutable: may be used by any number of threads. A copy shares the
/// tables. At most 2^20 bins. Functions that make bins throw gpuhist::error (invalid_argument) and std::bad_alloc.
class GPUHIST_API sample_bins {
 public:
  static constexpr std::uint32_t max_bins = 1U << 20U;

  /// `bins` even bins from `lower` to `upper`, which belongs to the last bin. If the bounds are equal they are moved by
  /// 0.5 each, as in NumPy. Refused as in NumPy: bounds that are not finite or not in order, and bins so narrow that
  /// two edges are equal.
  static sample_bins even(sample_type type, std::uint32_t bins, double lower, double upper,
                          even_rule rule = even_rule::numpy);

  /// Bins between given edges, which must not decrease and are not NaN: edges.size() - 1 bins. A bin includes its lower
  /// edge; the last one also its upper edge. Samples are compared as float64, which is exact except for int64 beyond
  /// 2^53.
  static sample_bins edges(sample_type type, std::span<const double> edges);

  /// Bin v counts the integer v, for 0 <= v < bins: numpy.bincount. Only for integer types.
  static sample_bins integers(sample_type type, std::uint32_t bins);

  [[nodiscard]] sample_type type() const noexcept;
  [[nodiscard]] std::uint32_t bins() const noexcept;

  /// Values of a row: bins() + 3.
  [[nodiscard]] std::size_t row_size() const noexcept { return std::size_t{bins()} + 3; }

  /// The bins() + 1 edges, as NumPy returns them. Of integers(): 0, 1, ..., bins().
  [[nodiscard]] const std::vector<double>& bin_edges() const noexcept;

  struct state;  ///< internal
  [[nodiscard]] const state& internals() const noexcept { return *state_; }

 private:
  explicit sample_bins(std::shared_ptr<const state> made) : state_(std::move(made)) {}
  std::shared_ptr<const state> state_;
};

/// Samples of the caller. A frame has one sample of each channel; they are adjacent. Frame i begins at data + i *
/// stride bytes. Any alignment. Not owned.
struct sample_view {
  const void* data = nullptr;
  std::uint64_t frames = 0;
  unsigned channels = 1;    ///< 1 to 4
  std::int64_t stride = 0;  ///< bytes from frame to frame, may be negative; 0: frames are adjacent
};

/// A weight for each frame (channels 1) or for each sample (channels as the samples). Otherwise as sample_view.
struct weight_view {
  const void* data = nullptr;
  weight_type type = weight_type::float64;
  unsigned channels = 1;
  std::int64_t stride = 0;
};

/// Adds the counts of `samples` to `rows`: channels x bins.row_size() counters, the row of channel 0 first. Uses
/// `threads` threads, including the caller's (0: one for each core that the process may use); returns when they have
/// ended. May be called from any thread. Throws gpuhist::error (invalid_argument: sizes, null pointers; system: no
/// thread) and std::bad_alloc; rows are then unchanged.
GPUHIST_API void count_samples(const sample_bins& bins, const sample_view& samples, std::span<std::uint64_t> rows,
                               unsigned threads = 1);

/// Adds the sums of the weights of the samples in each bin to `rows`, which are as in count_samples; the last three
/// values of a row remain counts of samples. Sums are accumulated in float64 over fixed parts of the samples, which are
/// added in order: the same bits in every run and for any number of threads. For int32 they are exact up to 2^53.
GPUHIST_API void sum_samples(const sample_bins& bins, const sample_view& samples, const weight_view& weights,
                             std::span<double> rows, unsigned threads = 1);

/// The samples of two axes of a joint histogram: sample i of both views belongs together. One channel each, the same
/// number of frames. x.bins() * y.bins() is at most 2^20.
struct joint_samples {
  const sample_bins& x_bins;
  sample_view x;
  const sample_bins& y_bins;
  sample_view y;

  /// Values of a row: the bins, those of the first bin of x first; pairs with a sample outside the bins; pairs with
  /// NaN, which are not counted as outside.
  [[nodiscard]] std::size_t row_size() const noexcept { return std::size_t{x_bins.bins()} * y_bins.bins() + 2; }
};

/// As count_samples, into one row of samples.row_size() counters.
GPUHIST_API void count_joint(const joint_samples& samples, std::span<std::uint64_t> row, unsigned threads = 1);

/// As sum_samples, into one row. The weights have one channel.
GPUHIST_API void sum_joint(const joint_samples& samples, const weight_view& weights, std::span<double> row,
                           unsigned threads = 1);

}  // namespace gpuhist
