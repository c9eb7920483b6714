#include "samples/numpy_bins.hpp"

#include "gpuhist/errors.hpp"
#include "samples/half.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

namespace gpuhist::gpu::samples {
namespace {

// Equal bounds are moved apart, in the type of the bounds.
std::pair<double, double> outer_edges(double lower, double upper, precision in) {
  if (lower != upper) return {lower, upper};
  return {rounded(in, lower - 0.5), rounded(in, upper + 0.5)};
}

void check_bounds(double lower, double upper) {
  if (!std::isfinite(lower) || !std::isfinite(upper))
    throw error(errc::invalid_argument, "even bins: a bound is not finite");
  if (lower > upper) throw error(errc::invalid_argument, "even bins: the lower bound is above the upper bound");
}

void check_increasing(const std::vector<double>& edges) {
  if (std::ranges::adjacent_find(edges, std::greater_equal{}) != edges.end())
    throw error(errc::invalid_argument, "even bins: too many bins for the range: two edges are equal");
}

}  // namespace

double rounded(precision to, double value) {
  switch (to) {
    case precision::half:
      return round_to_float16(value);
    case precision::single:
      return static_cast<double>(static_cast<float>(value));
    case precision::twice:
      return value;
  }
  return value;
}

precision compared_as(sample_type type) {
  switch (type) {
    case sample_type::float16:
      return precision::half;
    case sample_type::bfloat16:
    case sample_type::float32:
      return precision::single;
    default:
      return precision::twice;
  }
}

std::vector<double> linspace(double lower, double upper, std::uint32_t bins, precision in) {
  const auto round = [in](double value) { return rounded(in, value); };
  const double delta = round(upper - lower);
  const double divisor = round(bins);
  const double step = round(delta / divisor);
  std::vector<double> edges(std::size_t{bins} + 1);
  for (std::uint32_t i = 0; i < bins; ++i) {
    const double index = round(i);
    // of a range so small that the step underflows
    const double offset = step == 0 ? round(round(index / divisor) * delta) : round(index * step);
    edges[i] = round(offset + lower);
  }
  edges[bins] = upper;
  return edges;
}

numpy_even::numpy_even(sample_type type, std::uint32_t bins, double lower, double upper, bool typed_bounds)
    : compared_(compared_as(type)), quotient_(typed_bounds ? compared_ : precision::twice), bins_(bins) {
  check_bounds(lower, upper);
  if (typed_bounds) {
    lower = rounded(compared_, lower);
    upper = rounded(compared_, upper);
  }
  const auto [first, last] = outer_edges(lower, upper, quotient_);
  edges_ = linspace(first, last, bins, quotient_);
  for (double& edge : edges_) edge = rounded(compared_, edge);
  check_increasing(edges_);
  lower_ = rounded(compared_, first);
  width_ = rounded(quotient_, last - first);
}

std::int64_t numpy_even::bin_of(double value) const {
  if (!(value >= lower_)) return -1;
  if (value > edges_.back()) return bins_;
  const double offset = rounded(compared_, value - lower_);
  const double position =
      rounded(quotient_, rounded(quotient_, offset / width_) * rounded(quotient_, static_cast<double>(bins_)));
  const auto last = static_cast<double>(bins_ - 1);
  // A difference that overflows is an error in NumPy. Here it is a position after the last bin.
  auto bin = static_cast<std::int64_t>(position >= 0 && position < last ? position : last);
  if (value < edges_[static_cast<std::size_t>(bin)] && bin > 0) return bin - 1;
  if (value >= edges_[static_cast<std::size_t>(bin) + 1] && bin != bins_ - 1) ++bin;
  return bin;
}

}  // namespace gpuhist::gpu::samples
