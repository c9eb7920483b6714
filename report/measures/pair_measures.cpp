#include "report/measures/pair_measures.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

namespace gpuhist::report::measures {
namespace {

/// How often each bucket is that of the first byte, and that of the second byte, of a pair.
struct margins {
  explicit margins(const pipeline::pair_matrix& pairs) : first(pairs.buckets), second(pairs.buckets) {
    for (std::size_t i = 0; i < pairs.counts.size(); ++i) {
      const auto count = static_cast<double>(pairs.counts[i]);
      first[i / pairs.buckets] += count;
      second[i % pairs.buckets] += count;
      all += count;
    }
  }

  std::vector<double> first;
  std::vector<double> second;
  double all = 0;
};

}  // namespace

std::uint64_t pairs_in(const pipeline::pair_matrix& pairs) {
  std::uint64_t sum = 0;
  for (const std::uint64_t each : pairs.counts) {
    if (__builtin_add_overflow(sum, each, &sum)) return std::numeric_limits<std::uint64_t>::max();
  }
  return sum;
}

finding conditional_entropy(const pipeline::pair_matrix& pairs) {
  const margins sums(pairs);
  if (sums.all == 0) return finding::none("there are no pairs");
  double bits = 0;
  for (std::size_t i = 0; i < pairs.counts.size(); ++i) {
    if (pairs.counts[i] == 0) continue;
    const auto count = static_cast<double>(pairs.counts[i]);
    bits += count / sums.all * -std::log2(count / sums.first[i / pairs.buckets]);
  }
  return {.value = bits + 0.0};  // 0 instead of -0
}

std::vector<surprising_pair> most_surprising(const pipeline::pair_matrix& pairs, std::size_t wanted) {
  const margins sums(pairs);
  std::vector<surprising_pair> found;
  for (std::size_t i = 0; i < pairs.counts.size(); ++i) {
    if (pairs.counts[i] == 0) continue;
    surprising_pair each{.first = i / pairs.buckets, .second = i % pairs.buckets, .count = pairs.counts[i]};
    each.expected = sums.first[each.first] / sums.all * sums.second[each.second];
    const auto count = static_cast<double>(each.count);
    each.bits = count * std::log2(count / each.expected);
    if (each.bits > 0) found.push_back(each);
  }
  std::ranges::sort(found, [](const surprising_pair& a, const surprising_pair& b) {
    return std::tuple(-a.bits, a.first, a.second) < std::tuple(-b.bits, b.first, b.second);
  });
  found.resize(std::min(found.size(), wanted));
  return found;
}

}  // namespace gpuhist::report::measures
