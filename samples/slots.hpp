// The slots of many samples at once, with SIMD except for int64.
#pragma once

#include "samples/binning.hpp"

#include <cstddef>
#include <cstdint>

namespace gpuhist::gpu::samples {

/// Arrays of this many elements can be given to assign_slots, which reads and writes whole vectors.
inline constexpr std::size_t block_samples = 1024;

/// Writes the slots of values[0, count) to slots[0, count). Both arrays have block_samples initialized elements; slots
/// from `count` on are overwritten. Any thread.
void assign_slots(const binning<std::uint32_t>& in, const std::uint32_t* values, std::size_t count,
                  std::uint32_t* slots);
void assign_slots(const binning<float>& in, const float* values, std::size_t count, std::uint32_t* slots);
void assign_slots(const binning<std::uint64_t>& in, const std::uint64_t* values, std::size_t count,
                  std::uint32_t* slots);
void assign_slots(const binning<double>& in, const double* values, std::size_t count, std::uint32_t* slots);

}  // namespace gpuhist::gpu::samples
