// The functions behind the table of measures, by the file they are in. Each is pure and knows counts of any size; none
// asks for more of its sample than its comment says.
#pragma once

#include "pipeline/report/measures/measure.hpp"

namespace gpuhist::pipeline::measures {

inline constexpr std::string_view no_bytes = "there are no bytes";
inline constexpr std::string_view small_expectation = "an expected count is under 5";

// content.cpp

finding mean(const sample& of);
finding distinct(const sample& of);
finding ascii_share(const sample& of);
finding printable_share(const sample& of);
finding code_points(const sample& of);
finding lines(const sample& of);
finding mean_line_length(const sample& of);

// entropy.cpp

finding entropy(const sample& of);
finding entropy_corrected(const sample& of);

// chi_squared.cpp: all but the first two compare.

finding chi2(const sample& of);
finding chi2_p(const sample& of);
finding chi2_baseline(const sample& of);
finding chi2_baseline_p(const sample& of);

// character_distribution.cpp: both compare.

finding icd(const sample& of);
finding icd_p(const sample& of);

// divergence.cpp: both compare.

finding jsd(const sample& of);
finding kl(const sample& of);

}  // namespace gpuhist::pipeline::measures
