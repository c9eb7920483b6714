// The results of a batch job in its folder: files.jsonl, errors.jsonl, total.json, job.json.
#pragma once

#include "pipeline/program/batch/job_document.hpp"
#include "pipeline/program/batch/job_ledger.hpp"
#include "pipeline/program/batch/manifest.hpp"
#include "pipeline/program/batch/result_files.hpp"
#include "pipeline/program/batch/unit_outputs.hpp"
#include "pipeline/program/plan.hpp"

namespace gpuhist::pipeline {

/// Writes all four files, and those of the units; total.json is the last one. The entries of the manifest are in their
/// order. Throws as result_files::write().
void write_outputs(result_files& to, const plan& planned, const manifest& inputs, const job_ledger& ledger,
                   const recorded_units& units, const job_description& job);

}  // namespace gpuhist::pipeline
