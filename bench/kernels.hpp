// gpuhist-bench kernels: every strategy on every data set, size and kind of bins.
#pragma once

#include "bench/measurement.hpp"
#include "bench/options.hpp"

#include <functional>
#include <string_view>
#include <vector>

namespace gpuhist::bench {

/// What --kernel knows: the catalogue's names and those of the peers.
std::vector<std::string_view> kernel_names();

/// Throws config::usage_error where a kernel that is asked for, or the coarsening, applies to nothing that is asked
/// for.
void check_options(const kernels_options& options);

/// Measures what the options ask for and hands over each group when it is done; a size that the device's memory does
/// not hold is left out with a line on standard error. Throws config::usage_error where nothing that is asked for can
/// be done, std::runtime_error where a call fails.
void measure_kernels(const kernels_options& options, const machine& on,
                     const std::function<void(measured_group)>& done);

}  // namespace gpuhist::bench
