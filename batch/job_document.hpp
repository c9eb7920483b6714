// job.json of a batch job: what was counted, by which options and versions, on which machine, when.
#pragma once

#include "batch/job_ledger.hpp"
#include "batch/job_runs.hpp"
#include "batch/manifest.hpp"
#include "config/options.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace gpuhist::pipeline {

/// What job.json has besides the counts.
struct job_description {
  std::string header;                         ///< header_of(job_identity)
  std::string began;                          ///< the time of the last run, as now_as_text()
  std::vector<std::size_t> missing_shards{};  ///< merge --partial
  const config::options* typed = nullptr;     ///< of the last run; borrowed; null: merge
  std::vector<job_run_times> runs{};          ///< of the job; of all of its shards
  std::string device{};                       ///< the GPU that counted; empty: none
};

/// Reads what the system reports of this machine.
nlohmann::ordered_json job_as_json(const manifest& inputs, const job_ledger& ledger, const job_description& job,
                                   bool is_complete);

}  // namespace gpuhist::pipeline
