// The functions of the table of measures, grouped by file. Each is pure and accepts counts of any size. Functions that
// compare need a baseline that has bytes.
#pragma once

#include "report/measures/measure.hpp"

namespace gpuhist::report::measures {

inline constexpr std::string_view no_bytes = "there are no bytes";
inline constexpr std::string_view small_expectation = "an expected count is under 5";

/// The smallest expected count of a bin with which the statistic follows the χ² distribution well enough (Cochran
/// 1954).
inline constexpr double min_expectation = 5;

/// The term of a bin in the statistic. Divides first, because squares of large counts lose digits.
inline double squared_over(double difference, double expected) { return difference / expected * difference; }

/// The probability of a χ² statistic that is at least as large, if only chance is at work. The upper tail, 0 to 1: the
/// regularized incomplete gamma function Q(freedom / 2, statistic / 2). Never throws; a value too small for a double is
/// 0. Precondition: statistic >= 0, freedom > 0.
double chi_squared_tail(double statistic, double freedom);

// content.cpp

finding mean(const sample& measured);
finding distinct(const sample& measured);
finding ascii_share(const sample& measured);
finding printable_share(const sample& measured);
finding code_points(const sample& measured);
finding lines(const sample& measured);
finding mean_line_length(const sample& measured);

// entropy.cpp: the last two compare.

finding entropy(const sample& measured);
finding entropy_corrected(const sample& measured);
finding jsd(const sample& measured);
finding kl(const sample& measured);

// chi_squared.cpp: the last two compare.

finding chi2(const sample& measured);
finding chi2_p(const sample& measured);
finding chi2_baseline(const sample& measured);
finding chi2_baseline_p(const sample& measured);

// character_distribution.cpp: both compare.

finding icd(const sample& measured);
finding icd_p(const sample& measured);

}  // namespace gpuhist::report::measures
