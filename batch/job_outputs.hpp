// The results of a batch job in its folder: files.jsonl, errors.jsonl, total.json, job.json, units.jsonl,
// windows.jsonl, changes.txt.
#pragma once

#include "batch/job_document.hpp"
#include "batch/job_ledger.hpp"
#include "batch/manifest.hpp"
#include "batch/result_files.hpp"
#include "batch/unit_ledger.hpp"
#include "library/counting_plan.hpp"
#include "report/units/unit_result.hpp"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

namespace gpuhist::batch {

/// Where the lines of the records are that unit_ledger has from a journal.
struct line_files {
  std::filesystem::path units;
  std::filesystem::path windows;
};

/// The recorded units of a job.
struct recorded_units {
  const unit_ledger& ledger;
  std::vector<line_files> files;  ///< by source
};

/// Writes the files that the plan asks for, each under a temporary name that is renamed; in the order of the manifest.
/// Returns what total.json has of the units; nothing: the plan has none. Throws destination_error, std::system_error,
/// and std::runtime_error if recorded lines are damaged.
std::optional<report::units::unit_result> write_unit_outputs(result_files& to, const library::counting_plan& planned,
                                                             std::size_t entries, const job_ledger& inputs,
                                                             const recorded_units& found);

/// Writes all four files, and those of the units; total.json is the last one. The entries of the manifest are in their
/// order. Returns whether the logs have changes (--changes). Throws as result_files::write().
bool write_outputs(result_files& to, const library::counting_plan& planned, const manifest& inputs,
                   const job_ledger& ledger, const recorded_units& units, const job_description& job);

}  // namespace gpuhist::batch
