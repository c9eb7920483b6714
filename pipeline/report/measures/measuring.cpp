#include "pipeline/report/measures/measuring.hpp"

#include <algorithm>

namespace gpuhist::pipeline::measures {

byte_counts counts_of(const gpu::tally& counts) {
  byte_counts made{};
  std::ranges::copy_n(counts.counts.begin(), static_cast<std::ptrdiff_t>(std::min(counts.counts.size(), made.size())),
                      made.begin());
  return made;
}

std::vector<measurement> take_measures(const measuring& what, const byte_counts& of, const byte_counts* baseline) {
  const sample taken{.counts = of, .baseline = baseline != nullptr ? baseline : what.baseline.get()};
  std::vector<measurement> all;
  all.reserve(what.asked.size());
  for (const measure* const each : what.asked) all.push_back(take_measure(*each, taken));
  return all;
}

}  // namespace gpuhist::pipeline::measures
