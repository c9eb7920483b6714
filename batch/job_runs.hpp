// The runs of a batch job, for job.json: a file with a line for the beginning and one for the end of each run. Nothing
// else depends on it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace gpuhist::pipeline {

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

}  // namespace gpuhist::pipeline
