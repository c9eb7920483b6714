// Which stage limited a run, and what would help, in words: the answers to "why is it not faster?".
#pragma once

#include "pipeline/flow/statistics/run_stats.hpp"

#include <string>

namespace gpuhist::pipeline {

/// Both are one line of text for people, without a final stop.
struct verdict {
  std::string limited_by;
  std::string would_help;
};

/// From everything in `stats` but the two lines themselves.
verdict judge(const run_stats& stats);

}  // namespace gpuhist::pipeline
