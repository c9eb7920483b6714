#include "pipeline/counts/partitioning.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <numeric>
#include <utility>

namespace gpuhist::pipeline {

namespace {

gpu::partition partition_for(std::span<const config::scheme> schemes, bool newline_apart) {
  gpu::partition result;
  // the key: whether the byte value is '\n' and has a class of its own, and its bucket in every scheme
  std::map<std::vector<std::uint16_t>, std::uint8_t> classes;
  for (std::size_t byte = 0; byte < 256; ++byte) {
    std::vector<std::uint16_t> key{newline_apart && byte == '\n'};
    for (const config::scheme& each : schemes) key.push_back(each.bucket_of[byte]);
    const auto next = static_cast<std::uint8_t>(classes.size());
    result.class_of[byte] = classes.try_emplace(std::move(key), next).first->second;
  }
  result.classes = static_cast<std::uint16_t>(classes.size());
  return result;
}

}  // namespace

gpu::partition coarsest_partition(std::span<const config::scheme> schemes) { return partition_for(schemes, true); }

gpu::partition pair_partition(std::span<const config::scheme> schemes) { return partition_for(schemes, false); }

namespace {

std::vector<std::uint16_t> buckets_of_classes(const config::scheme& scheme, const gpu::partition& partition) {
  std::vector<std::uint16_t> buckets(partition.classes);
  for (std::size_t byte = 0; byte < 256; ++byte) buckets[partition.class_of[byte]] = scheme.bucket_of[byte];
  return buckets;
}

}  // namespace

scheme_view view_through(const config::scheme& scheme, const gpu::partition& partition,
                         const std::optional<gpu::partition>& pairs) {
  scheme_view view{.scheme = scheme, .bucket_of_class = buckets_of_classes(scheme, partition)};
  if (pairs) view.bucket_of_pair_class = buckets_of_classes(scheme, *pairs);
  return view;
}

std::vector<scheme_view> views_with_own_pairs(std::span<const config::scheme> schemes,
                                              const gpu::partition& partition) {
  std::vector<scheme_view> views;
  std::size_t at = 0;
  for (const config::scheme& each : schemes) {
    scheme_view view = view_through(each, partition);
    view.bucket_of_pair_class.resize(each.buckets.size());
    std::iota(view.bucket_of_pair_class.begin(), view.bucket_of_pair_class.end(), std::uint16_t{0});
    view.pairs_at = std::exchange(at, at + each.buckets.size() * each.buckets.size());
    views.push_back(std::move(view));
  }
  return views;
}

pair_matrix scheme_view::fold_pairs(const gpu::tally& counts) const {
  const std::size_t buckets = has_pairs() ? scheme.buckets.size() : 0;
  const std::size_t classes = bucket_of_pair_class.size();
  pair_matrix folded{.buckets = buckets, .counts = std::vector<std::uint64_t>(buckets * buckets)};
  if (counts.pairs.empty()) return folded;
  for (std::size_t i = 0; i < classes * classes; ++i) {
    const std::size_t first = bucket_of_pair_class[i / classes];
    folded.counts[first * buckets + bucket_of_pair_class[i % classes]] += counts.pairs[pairs_at + i];
  }
  return folded;
}

std::vector<std::uint64_t> scheme_view::fold(const gpu::tally& counts) const {
  std::vector<std::uint64_t> buckets(scheme.buckets.size());
  for (std::size_t i = 0; i < counts.counts.size(); ++i) buckets[bucket_of_class[i]] += counts.counts[i];
  return buckets;
}

row_folding::row_folding(const gpu::partition& counted, const gpu::row_layout& rows)
    : columns_(rows.columns()),
      count_columns_(rows.counted.classes),
      pair_classes_(rows.pair_classes()),
      classes_(counted.classes),
      newline_class_(counted.class_of['\n']) {
  for (std::size_t byte = 0; byte < 256; ++byte) class_of_column_[rows.counted.class_of[byte]] = counted.class_of[byte];
}

void row_folding::add(gpu::tally& to, std::span<const std::uint32_t> row) const {
  resize(to);
  for (std::size_t column = 0; column < count_columns_; ++column) to.counts[class_of_column_[column]] += row[column];
  const auto pairs = row.subspan(count_columns_, pair_columns());
  std::ranges::transform(to.pairs, pairs, to.pairs.begin(), std::plus<>{});
}

void row_folding::add(gpu::tally& to, const gpu::tally& more) const {
  resize(to);
  to += more;
}

void row_folding::resize(gpu::tally& made) const {
  made.counts.resize(classes_);
  made.pairs.resize(pair_columns());
}

std::optional<byte_pair> row_folding::append(text_tally& to, std::span<const std::uint32_t> row) const {
  add(to.counts, row);
  const auto seam = to.edges.append(edges_in(row));
  add(to.counts, seam);
  return seam;
}

std::optional<byte_pair> row_folding::append(text_tally& to, const text_tally& next) const {
  add(to.counts, next.counts);
  const auto seam = to.edges.append(next.edges);
  add(to.counts, seam);
  return seam;
}

std::uint64_t row_folding::lines_in(const gpu::tally& counts) const {
  return counts.counts.empty() ? 0 : counts.counts[newline_class_];
}

std::uint64_t row_folding::lines_in(std::span<const std::uint32_t> row) const {
  std::uint64_t lines = 0;
  for (std::size_t column = 0; column < count_columns_; ++column) {
    if (class_of_column_[column] == newline_class_) lines += row[column];
  }
  return lines;
}

std::uint64_t lines_in(const gpu::tally& counts, const gpu::partition& partition) {
  return counts.counts.empty() ? 0 : counts.counts[partition.class_of['\n']];
}

}  // namespace gpuhist::pipeline
