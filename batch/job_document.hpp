// job.json of a batch job: what was counted, by which options and versions, on which machine, when, in which runs.
#pragma once

#include "batch/job_ledger.hpp"
#include "batch/manifest.hpp"
#include "config/options.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace gpuhist::batch {

// The runs of a job: a file with a line for the beginning and one for the end of each run. Nothing else depends on it.

/// The present time in UTC: "2026-11-25T02:00:00Z".
std::string now_as_text();

/// A run. Without an end if its process was killed.
struct job_run_times {
  std::string began;
  std::string host;
  std::string ended{};
  double seconds = 0;        ///< of counting
  std::uint64_t inputs = 0;  ///< that it has finished
};

/// Appends to the file, which is created. Throws destination_error.
void note_beginning(const std::filesystem::path& file, const job_run_times& run);
void note_end(const std::filesystem::path& file, const job_run_times& run);

/// The runs in their order; none if there is no file that can be read. Lines that are damaged are ignored. Throws what
/// bounded_lines::next() throws.
std::vector<job_run_times> read_runs(const std::filesystem::path& file);

/// The name of this machine.
std::string host_name();

// The document.

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

}  // namespace gpuhist::batch
