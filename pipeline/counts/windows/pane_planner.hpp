// Where panes end in text that is not read here, only its numbers of bytes and lines are known.
#pragma once

#include <cstdint>
#include <vector>

namespace gpuhist::pipeline {

class pane_planner {
 public:
  /// `pane`: its size, in bytes or lines; 1 or more. `missing`: what the open pane lacks, 1 to `pane`.
  pane_planner(std::uint64_t pane, std::uint64_t missing) : pane_(pane), missing_(missing) {}

  /// The ends of panes in the next text of a stream: numbers of its bytes or lines, of which it has `units`, ascending.
  std::vector<std::uint32_t> next(std::uint32_t units) {
    std::vector<std::uint32_t> ends;
    std::uint64_t at = missing_;
    for (; at <= units; at += pane_) ends.push_back(static_cast<std::uint32_t>(at));
    missing_ = at - units;
    return ends;
  }

 private:
  const std::uint64_t pane_;
  std::uint64_t missing_;
};

}  // namespace gpuhist::pipeline
