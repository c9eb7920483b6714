// The rules by which NumPy 2 assigns samples to even bins, in the arithmetic of NumPy. Used when bins are made; samples
// are then assigned by thresholds (thresholds.hpp).
#pragma once

#include "gpuhist/samples.hpp"

#include <cstdint>
#include <vector>

namespace gpuhist::gpu::samples {

/// Floating-point types whose arithmetic is calculated as double and rounded after each operation. This gives the
/// results of the types: a double has more than twice as many digits, and two more.
enum class precision : std::uint8_t { half, single, twice };

double rounded(precision to, double value);

/// The type in which NumPy compares samples with edges: the type of the samples, or float64 for integers.
precision compared_as(sample_type type);

/// numpy.linspace(lower, upper, bins + 1) with arithmetic in `in`.
std::vector<double> linspace(double lower, double upper, std::uint32_t bins, precision in);

/// numpy.histogram with even bins. Throws gpuhist::error for arguments that NumPy refuses.
class numpy_even {
 public:
  numpy_even(sample_type type, std::uint32_t bins, double lower, double upper, bool typed_bounds);

  /// The bin of a value that the type has: -1 below, the number of bins above. Does not decrease with the value.
  [[nodiscard]] std::int64_t bin_of(double value) const;

  [[nodiscard]] const std::vector<double>& edges() const { return edges_; }

 private:
  precision compared_;
  precision quotient_;  // of the position in the range
  std::int64_t bins_;
  double lower_ = 0;
  double width_ = 0;  // of the whole range
  std::vector<double> edges_;
};

}  // namespace gpuhist::gpu::samples
