// Measures of pairs of neighbouring bytes, over the buckets of one scheme. docs/measures.md has the formulas.
#pragma once

#include "pipeline/counts/partitioning.hpp"
#include "report/measures/measure.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpuhist::report::measures {

/// The number of pairs, at most 2^64 - 1.
std::uint64_t pairs_in(const pipeline::pair_matrix& pairs);

/// The entropy of the bucket of a byte if that of the byte before it is known, in bits.
finding conditional_entropy(const pipeline::pair_matrix& pairs);

/// A pair that is more frequent than in bytes that are independent of each other.
struct surprising_pair {
  std::size_t first = 0;   ///< bucket of the first byte
  std::size_t second = 0;  ///< bucket of the second byte
  std::uint64_t count = 0;
  double expected = 0;  ///< count if the bytes were independent of each other
  double bits = 0;      ///< count * log2(count / expected), greater than 0
};

/// The pairs with the most bits, in descending order; equal ones in the order of the matrix. At most `wanted`.
std::vector<surprising_pair> most_surprising(const pipeline::pair_matrix& pairs, std::size_t wanted = 10);

}  // namespace gpuhist::report::measures
