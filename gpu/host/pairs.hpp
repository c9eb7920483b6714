// Counting pairs of neighbouring bytes on the host.
#pragma once

#include "gpu/tally.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace gpuhist::gpu::host {

/// Writes (does not add) the pairs of `bytes` (under 4 GiB) to pairs[0 .. classes x classes), row-major: the class of
/// the first byte selects the row. Thread-safe. `classes`: at most max_pair_classes.
void count_pairs(std::span<const std::byte> bytes, const partition& classes, std::uint32_t* pairs);

}  // namespace gpuhist::gpu::host
