// What `gpuhist batch --dry-run` prints, and the estimate of the time that the job takes.
#pragma once

#include "batch/input_survey.hpp"
#include "batch/manifest.hpp"
#include "library/counting_plan.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gpuhist::batch {

/// What was counted of one format.
struct format_sample {
  std::size_t inputs = 0;          ///< that were counted or begun
  std::uint64_t source_bytes = 0;  ///< that were read
  std::uint64_t text_bytes = 0;    ///< that were counted
  std::uint64_t disk_bytes = 0;    ///< of the source, not from the page cache
  double seconds = 0;
  std::string limited_by{};  ///< the stage that limited it, in words
};

struct format_estimate {
  double seconds = 0;
  double text_bytes = 0;
  format_sample sample{};
};

/// Whether a GPU would make the job faster.
struct gpu_advice {
  enum class verdict : std::uint8_t { no, perhaps, yes };
  verdict pays = verdict::no;
  std::string reason;
};

std::string_view name_of(gpu_advice::verdict verdict);

struct job_estimate {
  std::vector<format_estimate> formats;  ///< in the order of the groups
  double seconds = 0;
  double text_bytes = 0;
  double sample_seconds = 0;
  std::string limited_by{};  ///< of the format that takes most of the time, with its name
  gpu_advice gpu{};
};

/// Counts up to 256 inputs of each group, evenly spread, with the threads and the memory of `planned`, for at most 2
/// seconds in all. `planned`: with statistics; its engine counts. Throws what file_run::run() throws.
job_estimate estimate(const library::counting_plan& planned, const manifest& inputs,
                      const std::vector<format_group>& groups);

/// What a run would do.
struct dry_run {
  std::size_t inputs = 0;              ///< of the job, or of the shard
  std::uint64_t bytes = 0;             ///< of these inputs, as they are stored
  std::size_t counted = 0;             ///< inputs that an earlier run has finished
  unsigned threads = 1;                ///< of the run
  const manifest& planned;             ///< borrowed
  std::vector<format_group> groups{};  ///< of the inputs that the run would read
  job_estimate estimated{};            ///< for these groups
};

/// For people.
std::string text_of_dry_run(const dry_run& shown);

/// One line of schema gpuhist.plan/1.
std::string json_of_dry_run(const dry_run& shown);

}  // namespace gpuhist::batch
