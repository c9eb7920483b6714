// The stage that limited a run, and the remedy, in words. Answers "why is it not faster?".
#pragma once

#include "pipeline/flow/statistics/run_stats.hpp"

#include <string>

namespace gpuhist::pipeline {

/// Two lines of text for people, without a final full stop.
struct verdict {
  std::string limited_by;
  std::string would_help;
};

/// Uses all members of `stats` except limited_by and would_help.
verdict judge(const run_stats& stats);

}  // namespace gpuhist::pipeline
