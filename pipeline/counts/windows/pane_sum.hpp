// The sum of the panes of a sliding window. Counts are integers, so a pane is subtracted exactly.
#pragma once

#include "gpu/tally.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

namespace gpuhist::pipeline {

class pane_sum {
 public:
  /// `no_text`: a tally of zeros, with the size of all others.
  explicit pane_sum(gpu::tally no_text) : sum_(std::move(no_text)) {}

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
