#include "pipeline/counts/windows/pane_sum.hpp"

#include <utility>

namespace gpuhist::pipeline {

void pane_sum::add(gpu::tally pane) {
  if (!pane.counts.empty()) sum_ += pane;
  panes_.push_back(std::move(pane));
}

void pane_sum::drop(std::size_t panes) {
  for (; panes > 0; --panes, panes_.pop_front()) {
    if (!panes_.front().counts.empty()) sum_ -= panes_.front();
  }
}

}  // namespace gpuhist::pipeline
