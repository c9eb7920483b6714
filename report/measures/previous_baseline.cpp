#include "report/measures/previous_baseline.hpp"

#include "report/measures/measure.hpp"

#include <algorithm>

namespace gpuhist::report::measures {

previous_baseline::previous_baseline(std::size_t windows) : windows_(std::max<std::size_t>(windows, 1)) {}

// Sums may overflow in between: they are modulo 2^64, so subtraction restores them exactly.
void previous_baseline::close(const byte_counts& window) {
  for (std::size_t byte = 0; byte < window.size(); ++byte) sum_[byte] += window[byte];
  if (kept_.size() < windows_) {
    kept_.push_back(window);
    return;
  }
  byte_counts& leaves = kept_[oldest_];
  for (std::size_t byte = 0; byte < window.size(); ++byte) sum_[byte] -= leaves[byte];
  leaves = window;
  oldest_ = (oldest_ + 1) % windows_;
}

previous_baseline& window_baselines::of(const pipeline::closed_window& window) {
  return baselines_.try_emplace(per_input_ ? window.head.source : nullptr, *windows_).first->second;
}

const byte_counts* window_baselines::before(const pipeline::closed_window& window) {
  return windows_ ? of(window).get() : nullptr;
}

void window_baselines::close(const pipeline::closed_window& window) {
  if (!windows_) return;
  of(window).close(counts_of(window.counts));
  if (per_input_ && window.head.end_reason == pipeline::window_end::input)
    baselines_.erase(window.head.source);  // its last one
}

}  // namespace gpuhist::report::measures
