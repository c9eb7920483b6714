#include "pipeline/counts/run_counts.hpp"

#include <algorithm>

namespace gpuhist::pipeline {

void add_skipped(std::vector<skipped_names>& to, const skipped_names& more) {
  const auto at = std::ranges::lower_bound(to, more.cause, {}, &skipped_names::cause);
  if (at != to.end() && at->cause == more.cause) {
    at->count += more.count;
    at->bytes += more.bytes;
  } else {
    to.insert(at, more);
  }
}

}  // namespace gpuhist::pipeline
