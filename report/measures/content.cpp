// Measures of the content of a text: means, numbers and shares of byte values.
#include "report/measures/functions.hpp"

#include <algorithm>
#include <cstddef>

namespace gpuhist::report::measures {
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

finding mean(const sample& measured) {
  const double all = size_of(measured.counts);
  if (all == 0) return finding::none(no_bytes);
  double sum = 0;
  for (std::size_t byte = 0; byte < measured.counts.size(); ++byte) {
    sum += static_cast<double>(byte) * static_cast<double>(measured.counts[byte]);
  }
  return {.value = sum / all};
}

finding distinct(const sample& measured) {
  return {.value = static_cast<double>(
              std::ranges::count_if(measured.counts, [](std::uint64_t each) { return each != 0; }))};
}

finding ascii_share(const sample& measured) { return share_in(measured.counts, ascii); }

finding printable_share(const sample& measured) { return share_in(measured.counts, printable); }

// In valid UTF-8 every code point has exactly one byte that is not a continuation byte.
finding code_points(const sample& measured) {
  return {.value = size_of(measured.counts) - count_in(measured.counts, continuation)};
}

finding lines(const sample& measured) { return {.value = static_cast<double>(measured.counts['\n'])}; }

finding mean_line_length(const sample& measured) {
  const auto ends = static_cast<double>(measured.counts['\n']);
  if (ends == 0) return finding::none("there is no line feed");
  return {.value = (size_of(measured.counts) - ends) / ends};
}

}  // namespace gpuhist::report::measures
