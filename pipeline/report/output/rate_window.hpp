// How fast a run goes now: rates over the last few seconds, which follow a change that an average from the start hides.
#pragma once

#include "pipeline/flow/statistics/run_progress.hpp"

#include <deque>

namespace gpuhist::pipeline {

/// Bytes a second.
struct transfer_rates {
  double source = 0;
  double text = 0;
};

/// Bounded: holds as many samples as fall into the window, and one that began before it.
class rate_window {
 public:
  explicit rate_window(double seconds) : seconds_(seconds) {}

  /// Samples come in the order of their time.
  void add(const run_progress& sample);

  /// Between the newest sample and the youngest that is at least the window older; of a run younger than that, since
  /// its start.
  [[nodiscard]] transfer_rates rates() const;

 private:
  double seconds_;
  std::deque<run_progress> samples_{run_progress{}};  // a run starts with nothing, at 0 s
};

}  // namespace gpuhist::pipeline
