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
    const gpu::tally& gone = panes_.front();
    std::transform(gone.counts.begin(), gone.counts.end(), sum_.counts.begin(), sum_.counts.begin(),
                   [](std::uint64_t one, std::uint64_t all) { return all - one; });
  }
}

}  // namespace gpuhist::pipeline
