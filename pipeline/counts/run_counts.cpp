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

void run_counts::add(const input_report& more) {
  verified += more.verified;
  unverified += more.unverified;
  counted_unverified = counted_unverified || more.counted_unverified;
  complete = complete && more.complete;
  add_utf8(utf8, more.utf8);
}

void run_counts::add(const run_counts& more, const gpu::tally& its_verified, const gpu::tally& its_unverified) {
  verified += its_verified;
  unverified += its_unverified;
  counted_unverified = counted_unverified || more.counted_unverified;
  complete = complete && more.complete;
  add_utf8(utf8, more.utf8);
  for (const skipped_names& each : more.skipped) add_skipped(skipped, each);
}

input_report input_reports::operator[](std::size_t number) const {
  input_report found;
  if (number < finished_) {
    found = spilled_->at(spilled_->location_of(number));
  } else {
    const entry& each = rest_.at(number - finished_);
    found = each.held ? *each.held : spilled_->at(each.at);
    if (each.waits) set_unverified(found);
  }
  if (counts_unverified_) pipeline::count_unverified(found);
  return found;
}

}  // namespace gpuhist::pipeline
