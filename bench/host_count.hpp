// Counting on the host: the expected counts, and the sequential loop that kernels are compared with.
#pragma once

#include "gpu/cuda/span/bins.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace gpuhist::bench {

using gpu::cuda::kernels::bins;

inline constexpr std::array every_bins{bins::letters, bins::bytes};

/// "letters", "bytes".
std::string_view name_of(bins counted);

/// count_of(counted) counters.
using bin_counts = std::vector<std::uint64_t>;

/// The counts of the first `size` bytes of the repeated pattern. It uses the schemes of the command, not the functions
/// of the kernels.
bin_counts expected_counts(std::span<const std::uint8_t> pattern, std::uint64_t size, bins counted);

/// The simple loop over single bytes with one array of 64-bit counters, compiled with the flags of the program.
bin_counts sequential_count(std::span<const std::uint8_t> bytes, bins counted);

/// Bytes per second of sequential_count on this machine, the median of a few passes. Checks its counts.
double sequential_rate(std::span<const std::uint8_t> bytes, bins counted);

}  // namespace gpuhist::bench
