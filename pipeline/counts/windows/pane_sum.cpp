#include "pipeline/counts/windows/pane_sum.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace gpuhist::pipeline {

void pane_sum::add(gpu::tally pane) {
  if (!pane.counts.empty()) sum_ += pane;
  panes_.push_back(std::move(pane));
}

void pane_sum::drop(std::size_t panes) {
  for (; panes > 0; --panes, panes_.pop_front()) {
    const gpu::tally& first = panes_.front();
    std::transform(first.counts.begin(), first.counts.end(), sum_.counts.begin(), sum_.counts.begin(),
                   [](std::uint64_t dropped, std::uint64_t sum) { return sum - dropped; });
  }
}

}  // namespace gpuhist::pipeline
