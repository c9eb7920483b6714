// The simplest work on bytes in memory: the reference for the rate of counting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace gpuhist::bench {

/// The sum of the whole 64-bit words of `bytes`, modulo 2^64, with the widest vectors of this machine.
std::uint64_t vector_sum(std::span<const std::byte> bytes);

}  // namespace gpuhist::bench
