// The results of a batch job in its folder: files.jsonl, errors.jsonl, total.json, job.json.
#pragma once

#include "batch/job_document.hpp"
#include "batch/job_ledger.hpp"
#include "batch/manifest.hpp"
#include "batch/result_files.hpp"
#include "batch/unit_outputs.hpp"
#include "library/counting_plan.hpp"

namespace gpuhist::pipeline {

/// Writes all four files, and those of the units; total.json is the last one. The entries of the manifest are in their
/// order. Throws as result_files::write().
void write_outputs(result_files& to, const counting_plan& planned, const manifest& inputs, const job_ledger& ledger,
                   const recorded_units& units, const job_description& job);

}  // namespace gpuhist::pipeline
