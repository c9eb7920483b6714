// The sum of the panes of a sliding window. Counts are integers, so a pane is subtracted exactly.
#pragma once

#include "gpu/tally.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>

namespace gpuhist::pipeline {

class pane_sum {
 public:
  /// `classes`: of the tallies.
  explicit pane_sum(std::size_t classes) : sum_(classes) {}

  /// Appends a pane. A tally without classes counts no bytes.
  void add(gpu::tally pane);

  /// Removes the first `panes` panes. Precondition: there are as many.
  void drop(std::size_t panes);

  /// The sum of all panes.
  [[nodiscard]] const gpu::tally& sum() const { return sum_; }

 private:
  gpu::tally sum_;
  std::deque<gpu::tally> panes_;
};

}  // namespace gpuhist::pipeline
