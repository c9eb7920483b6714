#include "pipeline/report/measures/previous_baseline.hpp"

#include <algorithm>

namespace gpuhist::pipeline::measures {

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

}  // namespace gpuhist::pipeline::measures
