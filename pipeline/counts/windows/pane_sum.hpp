// The sum of the panes that make up a window, as it slides: whole numbers, so what was added is taken away again
// exactly.
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

  /// One more pane, behind all others. One without classes is one of nothing.
  void add(gpu::tally pane);

  /// The first panes are no part of it any more. Precondition: there are so many.
  void drop(std::size_t panes);

  /// The sum of all.
  [[nodiscard]] const gpu::tally& sum() const { return sum_; }

 private:
  gpu::tally sum_;
  std::deque<gpu::tally> panes_;
};

}  // namespace gpuhist::pipeline
