// What `gpuhist batch --dry-run` prints.
#pragma once

#include "batch/input_survey.hpp"
#include "batch/job_estimate.hpp"
#include "batch/manifest.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gpuhist::pipeline {

/// What a run would do.
struct dry_run {
  std::size_t inputs = 0;              ///< of the job, or of the shard
  std::uint64_t bytes = 0;             ///< of these inputs, as they are stored
  std::size_t counted = 0;             ///< inputs that an earlier run has finished
  unsigned threads = 1;                ///< of the run
  const manifest& planned;             ///< borrowed
  std::vector<format_group> groups{};  ///< of the inputs that the run would read
  job_estimate estimated{};            ///< for these groups
};

/// For people.
std::string text_of_dry_run(const dry_run& shown);

/// One line of schema gpuhist.plan/1.
std::string json_of_dry_run(const dry_run& shown);

}  // namespace gpuhist::pipeline
