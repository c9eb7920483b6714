#include "report/measures/measuring.hpp"

#include <algorithm>

namespace gpuhist::pipeline::measures {

byte_counts counts_of(const gpu::tally& counts) {
  byte_counts made{};
  std::ranges::copy_n(counts.counts.begin(), static_cast<std::ptrdiff_t>(std::min(counts.counts.size(), made.size())),
                      made.begin());
  return made;
}

std::vector<measurement> take_measures(const measuring& requested, const byte_counts& counts,
                                       const byte_counts* baseline) {
  const sample measured{.counts = counts, .baseline = baseline != nullptr ? baseline : requested.baseline.get()};
  std::vector<measurement> all;
  all.reserve(requested.asked.size());
  for (const measure* const each : requested.asked) all.push_back(take_measure(*each, measured));
  return all;
}

}  // namespace gpuhist::pipeline::measures
