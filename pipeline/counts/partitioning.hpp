// The partition that is counted for a set of schemes, and the folding of its counts into buckets.
#pragma once

#include "config/scheme.hpp"
#include "gpu/row_layout.hpp"
#include "gpu/tally.hpp"
#include "pipeline/counts/text_tally.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gpuhist::pipeline {

/// The coarsest partition whose counts give the buckets of every scheme and the number of lines. Two byte values share
/// a class exactly if every scheme has them in the same bucket and neither is '\n'. Classes are numbered in the order
/// of their smallest byte value.
gpu::partition coarsest_partition(std::span<const config::scheme> schemes);

/// The coarsest partition whose pairs give the pairs of the buckets of every scheme. It may have up to 256 classes;
/// pairs can be counted for at most gpu::max_pair_classes.
gpu::partition pair_partition(std::span<const config::scheme> schemes);

/// How often each bucket follows each bucket: row-major, the bucket of the first byte selects the row.
struct pair_matrix {
  std::size_t buckets = 0;  ///< 0: pairs were not counted
  std::vector<std::uint64_t> counts{};

  [[nodiscard]] std::uint64_t at(std::size_t first, std::size_t second) const {
    return counts[first * buckets + second];
  }
  bool operator==(const pair_matrix&) const = default;
};

/// A scheme seen through a partition: the bucket of every class.
struct scheme_view {
  config::scheme scheme;
  std::vector<std::uint16_t> bucket_of_class;
  std::vector<std::uint16_t> bucket_of_pair_class{};  ///< empty: pairs are not counted
  std::size_t pairs_at = 0;  ///< index in gpu::tally::pairs; others than 0 if each scheme has pairs of its own

  [[nodiscard]] bool has_pairs() const { return !bucket_of_pair_class.empty(); }

  /// Zeros if the tally has no pairs. Without buckets if pairs are not counted.
  [[nodiscard]] pair_matrix fold_pairs(const gpu::tally& counts) const;

  /// One count per bucket, in the order of scheme.buckets. A tally without classes counts no bytes.
  [[nodiscard]] std::vector<std::uint64_t> fold(const gpu::tally& counts) const;
};

/// Precondition: both partitions are at least as fine as the scheme. `pairs`: nothing if pairs are not counted.
scheme_view view_through(const config::scheme& scheme, const gpu::partition& partition,
                         const std::optional<gpu::partition>& pairs = {});

/// Views of schemes through a partition, for tallies in which every scheme has a matrix of its own, one after the
/// other.
std::vector<scheme_view> views_with_own_pairs(std::span<const config::scheme> schemes, const gpu::partition& partition);

/// Adds the rows of an engine to tallies of the counted partition. Tallies without classes are resized first; that
/// allocation is the only part that may throw.
class row_folding {
 public:
  /// `rows`: of the engine. Its partition is at least as fine as `counted`.
  row_folding(const gpu::partition& counted, const gpu::row_layout& rows);

  [[nodiscard]] std::size_t columns() const { return columns_; }  ///< of a row
  [[nodiscard]] std::size_t classes() const { return classes_; }  ///< of a tally

  [[nodiscard]] std::size_t pair_columns() const { return pair_classes_ * pair_classes_; }  ///< of row and tally

  /// A tally of no text.
  [[nodiscard]] gpu::tally no_text() const { return gpu::tally(classes_, pair_columns()); }

  /// Adds counts, without a pair at a seam.
  void add(gpu::tally& to, std::span<const std::uint32_t> row) const;
  void add(gpu::tally& to, const gpu::tally& more) const;

  /// Adds one pair; nothing: no pair.
  void add(gpu::tally& to, const std::optional<byte_pair>& seam) const {
    if (seam) ++to.pairs[seam->first * pair_classes_ + seam->second];
  }

  /// Appends text, and returns the pair at the seam, which is included.
  std::optional<byte_pair> append(text_tally& to, std::span<const std::uint32_t> row) const;
  std::optional<byte_pair> append(text_tally& to, const text_tally& next) const;

  /// The ends of the text of a row; none if pairs are not counted.
  [[nodiscard]] text_edges edges_in(std::span<const std::uint32_t> row) const {
    return pair_classes_ == 0 ? text_edges() : text_edges::from_row(row.back());
  }

  void resize(gpu::tally& made) const;

  /// How many bytes of a tally are '\n'.
  [[nodiscard]] std::uint64_t lines_in(const gpu::tally& counts) const;
  /// The same for a row.
  [[nodiscard]] std::uint64_t lines_in(std::span<const std::uint32_t> row) const;

 private:
  std::size_t columns_;
  std::size_t count_columns_;
  std::size_t pair_classes_;
  std::size_t classes_;
  std::uint8_t newline_class_;
  std::array<std::uint8_t, 256> class_of_column_{};
};

/// The number of '\n', as `wc -l` prints it. Precondition: the partition has a class for '\n' alone.
std::uint64_t lines_in(const gpu::tally& counts, const gpu::partition& partition);

}  // namespace gpuhist::pipeline
