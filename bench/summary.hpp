// The end of a run in a few lines: what the counting kernels reach on every data set, and whether all counts were
// right.
#pragma once

#include "bench/measurement.hpp"

#include <span>
#include <string>

namespace gpuhist::bench {

/// For each size and kind of bins: one column a data set; lane_private, bit_sliced, variants and peers as a share of
/// the ceiling, with the ratio of their slowest to their fastest data set; lane_private against the peers. Then the
/// verdict.
std::string summary_of(std::span<const measured_group> groups);

/// Whether a count was wrong anywhere.
bool any_wrong(std::span<const measured_group> groups);

}  // namespace gpuhist::bench
