// Counting on the host: what is right, and the sequential loop that kernels are compared with.
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
std::string_view name_of(bins what);

/// As many counters as count_of(what).
using bin_counts = std::vector<std::uint64_t>;

/// The counts of the first `size` bytes of the pattern repeated without end. Goes by the schemes that the command has,
/// not by the functions that kernels use.
bin_counts expected_counts(std::span<const std::uint8_t> pattern, std::uint64_t size, bins what);

/// The obvious loop over the bytes, one at a time, into one array of 64-bit counters, compiled as everything else is.
bin_counts sequential_count(std::span<const std::uint8_t> bytes, bins what);

/// Bytes per second of that loop on this machine, the median of a few passes; checks its counts.
double sequential_rate(std::span<const std::uint8_t> bytes, bins what);

}  // namespace gpuhist::bench
