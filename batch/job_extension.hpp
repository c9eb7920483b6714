// The state of a batch job whose manifest is extended (--new-only): a new manifest and a new journal replace the old
// ones together.
#pragma once

#include "batch/job_folder.hpp"
#include "batch/manifest.hpp"
#include "batch/manifest_extension.hpp"
#include "config/options.hpp"
#include "library/counting_plan.hpp"

#include <filesystem>
#include <vector>

namespace gpuhist::batch {

/// Ends an extension that was interrupted: it is finished if the state is already that of the new manifest, and has no
/// effect otherwise. To be called before anything else is read. Precondition: the folder is locked. Throws
/// destination_error, std::runtime_error.
void settle_extension(const job_folder& folder);

/// The file with the manifest of the state, also after an extension that was interrupted. Writes nothing.
std::filesystem::path manifest_file_of(const job_folder& folder);

/// What the state of a job has of each entry. No state: nothing. Reads only; the folder need not be locked. Throws
/// std::runtime_error if the state is of another job, std::system_error.
std::vector<entry_progress> read_progress(const job_folder& folder, const library::counting_plan& planned,
                                          const config::options& typed, const manifest& inputs,
                                          config::shard_choice shard);

struct extended_job {
  manifest inputs;
  manifest_extension changes;
};

/// Extends the manifest `old` of the folder by `found`. The results of entries that stay are copied to the new journal.
/// A process that is killed leaves the old manifest with the old journal, or the new ones (settle_extension). Nothing
/// is written if the manifest stays the same. Precondition: the folder is locked, and the job has no shards. Throws
/// std::runtime_error if the state is of another job, destination_error, std::system_error.
extended_job extend_job(const job_folder& folder, const library::counting_plan& planned, const config::options& typed,
                        const manifest& old, planned_entries found);

}  // namespace gpuhist::batch
