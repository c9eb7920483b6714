// The functions of the table of measures, grouped by file. Each is pure and accepts counts of any size. Functions that
// compare need a baseline that has bytes.
#pragma once

#include "report/measures/measure.hpp"

namespace gpuhist::pipeline::measures {

inline constexpr std::string_view no_bytes = "there are no bytes";
inline constexpr std::string_view small_expectation = "an expected count is under 5";

// content.cpp

finding mean(const sample& measured);
finding distinct(const sample& measured);
finding ascii_share(const sample& measured);
finding printable_share(const sample& measured);
finding code_points(const sample& measured);
finding lines(const sample& measured);
finding mean_line_length(const sample& measured);

// entropy.cpp

finding entropy(const sample& measured);
finding entropy_corrected(const sample& measured);

// chi_squared.cpp: the last two compare.

finding chi2(const sample& measured);
finding chi2_p(const sample& measured);
finding chi2_baseline(const sample& measured);
finding chi2_baseline_p(const sample& measured);

// character_distribution.cpp: both compare.

finding icd(const sample& measured);
finding icd_p(const sample& measured);

// divergence.cpp: both compare.

finding jsd(const sample& measured);
finding kl(const sample& measured);

}  // namespace gpuhist::pipeline::measures
