// How likely a χ² statistic as large as the one found is, if nothing but chance is at work.
#pragma once

namespace gpuhist::pipeline::measures {

/// The smallest expected count of a bin from which a χ² statistic is taken to have the distribution of its name
/// (Cochran 1954).
inline constexpr double min_expectation = 5;

/// What a bin adds to the statistic. The division comes first: squares of large counts lose digits.
inline double squared_over(double difference, double expected) { return difference / expected * difference; }

/// The upper tail, 0 to 1: the regularized incomplete gamma function Q(freedom / 2, statistic / 2). Never throws; what
/// is too small for a double is 0. Precondition: statistic >= 0, freedom > 0.
double chi_squared_tail(double statistic, double freedom);

}  // namespace gpuhist::pipeline::measures
