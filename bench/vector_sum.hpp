// The least that can be done with bytes in memory: the pace that counting is held against.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace gpuhist::bench {

/// The sum of the whole 64-bit words of `bytes`, modulo 2^64, with the widest vectors of this machine.
std::uint64_t vector_sum(std::span<const std::byte> bytes);

}  // namespace gpuhist::bench
