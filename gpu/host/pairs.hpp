// Counting pairs of neighbouring bytes on the host.
#pragma once

#include "gpu/host/kernel.hpp"
#include "gpu/tally.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace gpuhist::gpu::host {

/// Classes of pairs, prepared once per engine.
struct prepared_pairs {
  /// At most max_pair_classes.
  explicit prepared_pairs(const partition& pair_classes);

  prepared_partition classes;
  bool masks = false;                      ///< AVX3_DL: the pairs of each first class are counted by sums of bits
  unsigned shift = 0;                      ///< the number of a pair is first class << shift | second class
  prepared_partition numbers;              ///< of up to 16 classes: every number of a pair is a class of its own
  const kernel* numbers_kernel = nullptr;  ///< counts the numbers; null: they have more than 8 bits
};

/// Writes (does not add) the pairs of `bytes` (under 4 GiB) to pairs[0 .. classes x classes), row-major: the class of
/// the first byte selects the row. Thread-safe.
void count_pairs(std::span<const std::byte> bytes, const prepared_pairs& prepared, std::uint32_t* pairs);

/// The simple loop: the reference.
void count_pairs_simply(std::span<const std::byte> bytes, const partition& classes, std::uint32_t* pairs);

}  // namespace gpuhist::gpu::host
