// The inputs of a batch job: patterns, directories and lists become the entries of its manifest.
#pragma once

#include "config/options.hpp"
#include "pipeline/program/batch/manifest.hpp"
#include "pipeline/program/plan.hpp"

#include <cstddef>
#include <filesystem>
#include <vector>

namespace gpuhist::pipeline {

/// The options of the runs of a job: patterns among the inputs are expanded, directories are walked, and nothing is
/// written by the run itself. Throws config::usage_error: there are no inputs, standard input, a pattern without match.
config::options options_of_job(const config::options& typed);

/// A tally of no text, for the counts of the plan.
gpu::tally no_text_of(const counting_plan& planned);

/// Looks up the inputs. Reads the ends of files of more than 1 MiB. Each name is one entry. `folder`: of the job; its
/// files are no inputs.
std::vector<manifest_entry> plan_entries(const plan& planned, const std::filesystem::path& folder);

/// The names of the inputs that a run reads, as the entries `chosen` of the manifest.
looked_up_inputs inputs_of(const manifest& from, const std::vector<std::size_t>& chosen);

}  // namespace gpuhist::pipeline
