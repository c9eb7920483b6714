// gpuhist-bench kernels: measures every strategy with every data set, size and kind of bins.
#pragma once

#include "bench/measurement.hpp"
#include "bench/options.hpp"

#include <functional>
#include <string_view>
#include <vector>

namespace gpuhist::bench {

/// The names that --kernel accepts: those of the catalogue and of the peers.
std::vector<std::string_view> kernel_names();

/// Throws config::usage_error if a requested kernel, or the coarsening, does not apply to anything that is requested.
void check_options(const kernels_options& options);

/// Measures the groups that the options request and passes each to `report`. A size that does not fit device memory is
/// skipped with a line on standard error. Throws config::usage_error if no size fits, std::runtime_error if a call
/// fails.
void measure_kernels(const kernels_options& options, const machine& device,
                     const std::function<void(measured_group)>& report);

}  // namespace gpuhist::bench
