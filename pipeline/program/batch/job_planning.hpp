// The inputs of a batch job: patterns, directories and lists become the entries of its manifest.
#pragma once

#include "config/options.hpp"
#include "pipeline/program/batch/manifest.hpp"
#include "pipeline/program/plan.hpp"

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <vector>

namespace gpuhist::pipeline {

/// The options of the runs of a job: patterns among the inputs are expanded, directories are walked, and nothing is
/// written by the run itself. Throws config::usage_error: there are no inputs, standard input, a pattern without match.
config::options options_of_job(const config::options& typed);

/// A tally of no text, for the counts of the plan.
gpu::tally no_text_of(const counting_plan& planned);

struct planned_entries {
  std::vector<manifest_entry> entries;  ///< each name once
  std::size_t too_young = 0;            ///< files that --min-age leaves out
};

/// Looks up the inputs. Reads the ends of files of more than 1 MiB. `folder`: of the job; its files are no inputs.
planned_entries plan_entries(const plan& planned, const std::filesystem::path& folder,
                             std::optional<std::chrono::milliseconds> min_age);

/// The names of the inputs that a run reads, as the entries `chosen` of the manifest.
looked_up_inputs inputs_of(const manifest& from, const std::vector<std::size_t>& chosen);

}  // namespace gpuhist::pipeline
