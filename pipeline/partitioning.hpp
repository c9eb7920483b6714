// From schemes to the partition that is counted, and back from its counts to buckets.
#pragma once

#include "config/scheme.hpp"
#include "gpu/tally.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace gpuhist::pipeline {

/// The coarsest partition from which every scheme, and the number of lines, can be folded: two byte values share a
/// class exactly when all schemes put them into the same bucket and neither is '\n'. Classes are numbered in the order
/// of their smallest byte value.
gpu::partition coarsest_partition(std::span<const config::scheme> schemes);

/// A scheme seen through a partition: the bucket of every class.
struct scheme_view {
  config::scheme scheme;
  std::vector<std::uint16_t> bucket_of_class;

  /// One count a bucket, in the order of scheme.buckets. A tally without classes is one of nothing.
  [[nodiscard]] std::vector<std::uint64_t> fold(const gpu::tally& counts) const;
};

/// Precondition: the partition separates whatever the scheme separates.
scheme_view view_through(const config::scheme& scheme, const gpu::partition& partition);

/// Adds a row of an engine, the column i of which counts class_of_column[i]. Precondition: the tally has those classes.
void add_row(gpu::tally& to, std::span<const std::uint32_t> row, std::span<const std::uint8_t> class_of_column);

/// How many bytes are '\n': what `wc -l` says. Precondition: the partition has a class for '\n' alone.
std::uint64_t lines_in(const gpu::tally& counts, const gpu::partition& partition);

}  // namespace gpuhist::pipeline
