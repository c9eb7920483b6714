// The probability of a χ² statistic that is at least as large, if only chance is at work.
#pragma once

namespace gpuhist::pipeline::measures {

/// The smallest expected count of a bin with which the statistic follows the χ² distribution well enough (Cochran
/// 1954).
inline constexpr double min_expectation = 5;

/// The term of a bin in the statistic. Divides first, because squares of large counts lose digits.
inline double squared_over(double difference, double expected) { return difference / expected * difference; }

/// The upper tail, 0 to 1: the regularized incomplete gamma function Q(freedom / 2, statistic / 2). Never throws; a
/// value too small for a double is 0. Precondition: statistic >= 0, freedom > 0.
double chi_squared_tail(double statistic, double freedom);

}  // namespace gpuhist::pipeline::measures
