// A partition of the 256 byte values into classes, and tallies: the counts of the classes of a partition, and of pairs
// of classes. Tallies of one partition are added.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <vector>

namespace gpuhist::gpu {

/// A map from every byte value to one of `classes` classes (1 to 256). A plain value.
struct partition {
  std::array<std::uint8_t, 256> class_of{};
  std::uint16_t classes = 1;

  /// 256 classes, one for each byte value. Its tally can be folded to a tally of any other partition.
  static partition identity() {
    partition all;
    std::iota(all.class_of.begin(), all.class_of.end(), std::uint8_t{0});
    all.classes = 256;
    return all;
  }

  bool operator==(const partition&) const = default;
};

/// 64-bit counts over the classes of one partition.
struct tally {
  std::vector<std::uint64_t> counts;

  /// Counts of pairs of neighbouring bytes over the classes of pairs, row-major: the class of the first byte selects
  /// the row. Empty: pairs are not counted.
  std::vector<std::uint64_t> pairs;

  tally() = default;
  explicit tally(std::size_t classes, std::size_t pair_columns = 0) : counts(classes), pairs(pair_columns) {}

  /// Adds another tally of the same size.
  tally& operator+=(const tally& other) {
    std::ranges::transform(counts, other.counts, counts.begin(), std::plus<>{});
    std::ranges::transform(pairs, other.pairs, pairs.begin(), std::plus<>{});
    return *this;
  }

  /// Subtracts a tally that was added before.
  tally& operator-=(const tally& other) {
    std::ranges::transform(counts, other.counts, counts.begin(), std::minus<>{});
    std::ranges::transform(pairs, other.pairs, pairs.begin(), std::minus<>{});
    return *this;
  }

  /// Number of counted bytes.
  [[nodiscard]] std::uint64_t bytes() const { return std::reduce(counts.begin(), counts.end()); }

  bool operator==(const tally&) const = default;
};

}  // namespace gpuhist::gpu
