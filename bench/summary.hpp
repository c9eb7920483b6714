// The summary of a run: the rates of the counting kernels on every data set, and whether all counts were right.
#pragma once

#include "bench/measurement.hpp"

#include <span>
#include <string>

namespace gpuhist::bench {

/// For each size and kind of bins, a table with one column per data set: lane_private, bit_sliced, variants and peers
/// as a share of the ceiling, with the ratio of the slowest to the fastest data set; then lane_private compared with
/// the peers. The last lines are the verdict.
std::string summary_of(std::span<const measured_group> groups);

/// Whether any count was wrong.
bool any_wrong(std::span<const measured_group> groups);

}  // namespace gpuhist::bench
