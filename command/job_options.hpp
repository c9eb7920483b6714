// The options of `gpuhist batch` for the runs of a job.
#pragma once

#include "command/plan.hpp"
#include "config/options.hpp"
#include "io/output_files.hpp"

namespace gpuhist::command {

/// Throws config::usage_error for windows and units whose results would depend on when and in which order inputs are
/// read.
void check_unit_options(const config::options& typed);

/// The options of the runs of a job: patterns among the inputs are expanded, except to files of the job itself (`own`),
/// directories are walked, and nothing is written by the run itself. Throws config::usage_error: there are no inputs,
/// standard input, a pattern without match.
config::options options_of_job(const config::options& typed, const io::output_files& own);

/// The part of the inputs that this run takes, `auto` as Slurm or MPI numbers it; 0 of 0: all. Throws
/// config::usage_error.
config::shard_choice shard_of(const config::options& typed);

/// The plan of a run over a manifest, which replaces the inputs.
plan plan_of_run(const config::options& typed);

}  // namespace gpuhist::command
