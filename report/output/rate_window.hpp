// The current rates of a run: means over the last few seconds, which change faster than a mean since the start.
#pragma once

#include "pipeline/flow/statistics/run_stats.hpp"

#include <deque>

namespace gpuhist::pipeline {

/// Bytes per second.
struct transfer_rates {
  double source = 0;
  double text = 0;
};

/// Memory: the samples within the window, and one before it.
class rate_window {
 public:
  explicit rate_window(double seconds) : seconds_(seconds) {}

  /// Samples must be added in the order of their time.
  void add(const run_progress& sample);

  /// The rates between the newest sample and the newest one that is older by at least the window; since the start if
  /// the run is shorter than the window.
  [[nodiscard]] transfer_rates rates() const;

 private:
  double seconds_;
  std::deque<run_progress> samples_{run_progress{}};  // a run starts with 0 bytes at 0 s
};

}  // namespace gpuhist::pipeline
