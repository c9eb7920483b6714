// The results of a batch job in its folder: files.jsonl, errors.jsonl, total.json, job.json.
#pragma once

#include "pipeline/program/batch/job_ledger.hpp"
#include "pipeline/program/batch/manifest.hpp"
#include "pipeline/program/batch/unit_outputs.hpp"
#include "pipeline/program/plan.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace gpuhist::pipeline {

/// What job.json has besides the counts.
struct job_description {
  std::string header;                         ///< header_of(job_identity)
  std::string began;                          ///< the time of the last run, as now_as_text()
  std::vector<std::size_t> missing_shards{};  ///< merge --partial
};

/// The present time in UTC: "2026-11-25T02:00:00Z".
std::string now_as_text();

/// Writes all four files, and those of the units, each under a temporary name that is renamed; total.json is the last
/// one. The entries of the manifest are in their order. Throws destination_error.
void write_outputs(const std::filesystem::path& folder, const plan& planned, const manifest& inputs,
                   const job_ledger& ledger, const recorded_units& units, const job_description& job);

}  // namespace gpuhist::pipeline
