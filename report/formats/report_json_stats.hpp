// The `stats` object of the JSON result.
#pragma once

#include "pipeline/flow/statistics/run_stats.hpp"

#include <nlohmann/json.hpp>

namespace gpuhist::pipeline {

/// The statistics of --stats: numbers in bytes and seconds, shares from 0 to 1, and text.
nlohmann::ordered_json stats_as_json(const run_stats& stats);

}  // namespace gpuhist::pipeline
