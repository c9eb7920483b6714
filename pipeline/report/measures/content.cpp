// What a text is made of: means, numbers and shares of byte values.
#include "pipeline/report/measures/functions.hpp"

#include <algorithm>
#include <cstddef>

namespace gpuhist::pipeline::measures {
namespace {

/// Byte values from `first` to `last`, both included.
struct byte_range {
  std::size_t first;
  std::size_t last;
};

constexpr byte_range ascii{.first = 0x00, .last = 0x7f};
constexpr byte_range printable{.first = 0x20, .last = 0x7e};
constexpr byte_range continuation{.first = 0x80, .last = 0xbf};

double count_in(const byte_counts& counts, byte_range range) {
  double sum = 0;
  for (std::size_t byte = range.first; byte <= range.last; ++byte) sum += static_cast<double>(counts[byte]);
  return sum;
}

finding share_in(const byte_counts& counts, byte_range range) {
  const double all = size_of(counts);
  if (all == 0) return finding::none(no_bytes);
  return {.value = count_in(counts, range) / all};
}

}  // namespace

finding mean(const sample& of) {
  const double all = size_of(of.counts);
  if (all == 0) return finding::none(no_bytes);
  double sum = 0;
  for (std::size_t byte = 0; byte < of.counts.size(); ++byte) {
    sum += static_cast<double>(byte) * static_cast<double>(of.counts[byte]);
  }
  return {.value = sum / all};
}

finding distinct(const sample& of) {
  return {.value = static_cast<double>(std::ranges::count_if(of.counts, [](std::uint64_t each) { return each != 0; }))};
}

finding ascii_share(const sample& of) { return share_in(of.counts, ascii); }

finding printable_share(const sample& of) { return share_in(of.counts, printable); }

// Of valid UTF-8 every code point has exactly one byte that is no continuation byte.
finding code_points(const sample& of) { return {.value = size_of(of.counts) - count_in(of.counts, continuation)}; }

finding lines(const sample& of) { return {.value = static_cast<double>(of.counts['\n'])}; }

finding mean_line_length(const sample& of) {
  const auto ends = static_cast<double>(of.counts['\n']);
  if (ends == 0) return finding::none("there is no line feed");
  return {.value = (size_of(of.counts) - ends) / ends};
}

}  // namespace gpuhist::pipeline::measures
